"""A polite HTTP client: a rate limit, retries with back-off, and a server's wish to be left alone honoured."""

import asyncio
import importlib.metadata
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from teleembed_ray.errors import ArtifactError, ConfigError, RetryableError

NUM_ATTEMPTS = 6
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
# A server that asks for more is left alone until the user runs the command again.
LONGEST_RETRY_AFTER_S = 300.0
NUM_REDIRECTS = 5
LARGEST_PAGE_BYTES = 32 << 20
TIMEOUT = httpx.Timeout(30.0, connect=15.0)
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})

Result = TypeVar("Result")


class FetchError(ArtifactError):
    """One thing that could not be fetched: `reason` is a fixed word, the message says what is wrong and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class BusyError(RetryableError):
    """The server did not serve this time; it may have said when to come again."""

    def __init__(self, detail: str, retry_after_s: float = 0.0) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


def user_agent() -> str:
    """Return what the client calls itself."""
    return f"teleembed_ray/{importlib.metadata.version('teleembed-ray')} (+fetch)"


def checked_root(url: str) -> str:
    """Return a root address without its last slash; raises ConfigError where it is none."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"--root {url}: must be an address such as https://www.3gpp.org/ftp/Specs/archive")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError("--root: must hold no user, password or query: they would end up in the manifest")
    return url.rstrip("/")


def _retry_after_s(response: httpx.Response) -> float:
    """Return the seconds that a response asks to wait (a number or a date), and 0 where it does not."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


class Pace:
    """Spreads requests over time, whoever sends them."""

    def __init__(self, rate_per_s: float) -> None:
        self._gap_s = 1.0 / rate_per_s
        self._next = -math.inf
        self._held_until = -math.inf

    async def turn(self) -> None:
        """Wait until it is this caller's turn."""
        start = max(time.monotonic(), self._next)
        self._next = start + self._gap_s
        while (left_s := max(start, self._held_until) - time.monotonic()) > 0:
            await asyncio.sleep(left_s)

    def hold(self, seconds: float) -> None:
        """Let nobody have a turn for some seconds: the server asked one of us to wait, and means all."""
        self._held_until = max(self._held_until, time.monotonic() + seconds)


class Client:
    """GET from one server, politely; used as an async context manager."""

    def __init__(self, root: str, rate_per_s: float, first_wait_s: float = FIRST_WAIT_S) -> None:
        self._host = (urlsplit(root).hostname or "").lower()
        self._pace = Pace(rate_per_s)
        self._backoff = wait_exponential(multiplier=first_wait_s, max=LONGEST_WAIT_S) + wait_random(0.0, first_wait_s)
        # Sizes are compared and parts continued, so the bytes must be those of the file and not of an encoding of it.
        headers = {"User-Agent": user_agent(), "Accept-Encoding": "identity"}
        self._http = httpx.AsyncClient(headers=headers, timeout=TIMEOUT, follow_redirects=False)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def trusts(self, url: httpx.URL, secure: bool) -> bool:
        """Whether a redirect may lead there: http or https, never back from https, the root's host or one below it."""
        base, host = self._host.removeprefix("www."), url.host.lower()
        if url.scheme not in ("http", "https") or (secure and url.scheme != "https"):
            return False
        return host in (self._host, base) or ("." in base and host.endswith(f".{base}"))

    def _wait_s(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        return max(self._backoff(state), error.retry_after_s if isinstance(error, BusyError) else 0.0)

    async def retried(self, operation: Callable[[], Awaitable[Result]]) -> Result:
        """Run an operation until it raises no RetryableError any more, at most NUM_ATTEMPTS times.

        Raises FetchError: `unavailable` when the attempts are used up, `told_to_wait` when the server asks for a long
        pause.
        """

        def stop(state: RetryCallState) -> bool:
            error = state.outcome.exception() if state.outcome else None
            long = isinstance(error, BusyError) and error.retry_after_s > LONGEST_RETRY_AFTER_S
            return long or stop_after_attempt(NUM_ATTEMPTS)(state)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(RetryableError), wait=self._wait_s, stop=stop, reraise=True
        )
        try:
            return await retrying(operation)
        except RetryableError as error:
            wish_s = error.retry_after_s if isinstance(error, BusyError) else 0.0
            if wish_s > LONGEST_RETRY_AFTER_S:
                raise FetchError(
                    "told_to_wait", f"{error}, and asks to wait {wish_s:,.0f} s: do, and run again"
                ) from error
            raise FetchError("unavailable", f"{error} (tried {NUM_ATTEMPTS} times): run again later") from error

    @asynccontextmanager
    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[httpx.Response]:
        """One GET, redirects followed -> an open response with status 200, 206, 304 or 416.

        Raises RetryableError for what may pass (also while the body is read), and FetchError for what will not.
        """
        try:
            response = await self._send(url, headers or {})
            try:
                self._check_status(response)
                yield response
            finally:
                await response.aclose()
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise FetchError("redirect", f"{url}: leads to an address that cannot be used: {error}") from error
        except httpx.HTTPError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise FetchError(
                    "certificate",
                    f"{url}: its certificate is not trusted here: set SSL_CERT_FILE to your network's certificates",
                ) from error
            raise RetryableError(f"{url}: {type(error).__name__}: {error or 'no answer in time'}") from error

    async def _send(self, url: str, headers: Mapping[str, str]) -> httpx.Response:
        request = self._http.build_request("GET", url, headers=headers)
        for _ in range(NUM_REDIRECTS + 1):
            await self._pace.turn()
            response = await self._http.send(request, stream=True)
            if response.next_request is None:
                return response
            await response.aclose()
            target = response.next_request.url
            if not self.trusts(target, secure=request.url.scheme == "https"):
                raise FetchError("redirect", f"{url}: leads to {target}, which is another server: not followed")
            request = response.next_request
        raise FetchError("redirect", f"{url}: leads from one address to the next without end")

    def _check_status(self, response: httpx.Response) -> None:
        status, url = response.status_code, response.url
        if status in (200, 206, 304, 416):
            return
        if status in TRY_AGAIN:
            retry_after_s = _retry_after_s(response)
            if retry_after_s <= LONGEST_RETRY_AFTER_S:
                self._pace.hold(retry_after_s)
            raise BusyError(f"{url}: the server answers {status} {response.reason_phrase}".rstrip(), retry_after_s)
        if status in (404, 410):
            raise FetchError("not_found", f"{url}: the server has no such file or folder ({status})")
        raise FetchError("refused", f"{url}: the server answers {status} {response.reason_phrase}".rstrip())

    async def read_page(self, url: str) -> tuple[bytes, str]:
        """Return a page and its own address, after redirects; with retries."""

        async def attempt() -> tuple[bytes, str]:
            async with self.get(url) as response:
                page = bytearray()
                async for block in response.aiter_bytes():
                    page += block
                    if len(page) > LARGEST_PAGE_BYTES:
                        raise FetchError("no_listing", f"{url}: is larger than a list of files would be")
                return bytes(page), str(response.url)

        return await self.retried(attempt)
