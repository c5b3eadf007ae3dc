"""One file of a web server -> one file on the disk, whole and checked; a download cut short goes on where it was.

What has come lies in `.NAME.part` beside the target, and `.NAME.part.json` says which file of the server it is the
beginning of. The target appears by one rename, after every check.
"""

import asyncio
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from pydantic import BaseModel, ValidationError

from teleembed_ray.errors import RetryableError
from teleembed_ray.fetch.client import Client, FetchError
from teleembed_ray.fetch.manifest import sha256_of, write_atomically

# More than any specification; a small zip can unpack to a petabyte.
LARGEST_UNPACKED_BYTES = 32 << 30
_ZIP_BEGINS = b"PK"
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(frozen=True)
class Validators:
    """What a server says to tell two states of a file apart."""

    etag: str | None
    last_modified: str | None

    @property
    def for_range(self) -> str | None:
        """The value for If-Range, which must be a strong one: a weak ETag allows for other bytes."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    @property
    def conditions(self) -> dict[str, str]:
        """Headers that ask for the file only if it changed; empty where nothing is known."""
        if self.etag:
            return {"If-None-Match": self.etag}
        return {"If-Modified-Since": self.last_modified} if self.last_modified else {}


@dataclass(frozen=True)
class Receipt:
    """What came: its size, its digest, what the server said of it, and what it was checked against."""

    num_bytes: int
    sha256: str
    validators: Validators
    checked: str


class _PartState(BaseModel):
    """Which file of the server a part is the beginning of."""

    url: str
    etag: str | None
    last_modified: str | None
    num_bytes: int | None

    @property
    def validators(self) -> Validators:
        return Validators(self.etag, self.last_modified)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """A full disk is reported without the file's name by write(); put it in."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


class _Part:
    """The part file of a target and the state beside it."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.part")
        self._state_path = target.with_name(f".{target.name}.part.json")

    def state(self, url: str) -> _PartState | None:
        """Return the state of a part that can be continued from `url`, or None."""
        try:
            state = _PartState.model_validate_json(self._state_path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return state if state.url == url and state.validators.for_range and self.num_bytes() else None

    def num_bytes(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def begin(self, state: _PartState) -> None:
        """Empty the part before its state is written: the other order could pair old bytes with a new state."""
        self.path.write_bytes(b"")
        write_atomically(self._state_path, state.model_dump_json())

    def discard(self) -> None:
        self._state_path.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def check_zip(path: Path) -> str:
    """Return `crc` for a zip file whose members all unpack and match, `size` for one that Python cannot unpack.

    Raises FetchError `damaged` or `encrypted`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST_UNPACKED_BYTES:
                raise FetchError("damaged", "unpacks to more than any specification holds")
            if any(member.flag_bits & 1 for member in archive.infolist()):
                raise FetchError("encrypted", "is a zip file with a password")
            wrong = archive.testzip()
    except NotImplementedError:
        return "size"
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FetchError("damaged", f"is a damaged zip file ({error})") from error
    if wrong is not None:
        raise FetchError("damaged", f"is a damaged zip file: {wrong} does not match its checksum")
    return "crc"


class Download:
    """One download with all its attempts."""

    def __init__(self, client: Client, url: str, target: Path, listed_bytes: int | None, known: Validators | None):
        self._client = client
        self._url = url
        self._target = target
        self._listed_bytes = listed_bytes
        self._known = known
        self._part = _Part(target)

    async def run(self) -> Receipt | None:
        """Fetch the file to its target; returns None where the server says that what is `known` is still it.

        Raises FetchError for what cannot be had, and OSError for a disk that takes no more.
        """
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with _naming(self._part.path):
            return await self._client.retried(self._attempt)

    async def _attempt(self) -> Receipt | None:
        state = self._part.state(self._url)
        offset = self._part.num_bytes() if state else 0
        # A process can be killed between the last byte and the rename.
        if not (state and offset == state.num_bytes):
            received = await self._receive(state, offset)
            if received is None:
                return None
            state = received
        if state.num_bytes is not None and self._part.num_bytes() != state.num_bytes:
            raise RetryableError(f"{self._url}: {self._part.num_bytes():,} of {state.num_bytes:,} bytes came")
        return await self._finish(state, continued=offset > 0)

    async def _receive(self, state: _PartState | None, offset: int) -> _PartState | None:
        """Append to the part what is missing, or all of it; returns its state, or None for an unchanged file."""
        headers: dict[str, str] = {}
        if state and state.validators.for_range:
            headers = {"Range": f"bytes={offset}-", "If-Range": state.validators.for_range}
        elif self._known:
            headers = self._known.conditions
        async with self._client.get(self._url, headers) as response:
            if response.status_code == 304 and self._known:
                return None
            if response.status_code == 206 and state and self._continues(response, offset, state.num_bytes):
                await self._append(response)
                return state
            if response.status_code != 200:
                self._part.discard()
                raise RetryableError(f"{self._url}: the server does not continue the file where it was cut: all again")
            # The whole file: the server ignores ranges, or the file is another one by now.
            length = response.headers.get("content-length", "")
            state = _PartState(
                url=self._url,
                etag=response.headers.get("etag"),
                last_modified=response.headers.get("last-modified"),
                num_bytes=int(length) if length.isdecimal() else None,
            )
            self._part.begin(state)
            await self._append(response)
            return state

    @staticmethod
    def _continues(response: httpx.Response, offset: int, num_bytes: int | None) -> bool:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        return match is not None and int(match[1]) == offset and num_bytes in (None, int(match[3]))

    async def _append(self, response: httpx.Response) -> None:
        with self._part.path.open("ab") as file:
            # Raw bytes: those of the file, whatever the server claims about their encoding.
            async for block in response.aiter_raw():
                if file.tell() == 0 and not block.startswith(_ZIP_BEGINS[: len(block)]):
                    self._part.discard()
                    what = "a web page" if block.lstrip()[:1] == b"<" else "something else"
                    raise FetchError("not_a_zip", f"{self._url}: the server sends {what} in place of the zip file")
                file.write(block)

    async def _finish(self, state: _PartState, continued: bool) -> Receipt:
        path = self._part.path
        num_bytes = self._part.num_bytes()
        try:
            if self._listed_bytes is not None and num_bytes != self._listed_bytes:
                raise FetchError("size", f"has {num_bytes:,} bytes, and the listing says {self._listed_bytes:,}")
            checked = await asyncio.to_thread(check_zip, path)
        except FetchError as failure:
            self._part.discard()
            if continued:
                # Its beginning may be that of another file: a server without honest validators.
                raise RetryableError(f"{self._url}: {failure.detail}") from failure
            raise FetchError(failure.reason, f"{self._url}: {failure.detail}") from failure
        sha256 = await asyncio.to_thread(sha256_of, path)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(self._target)
        self._part.discard()
        return Receipt(num_bytes, sha256, state.validators, checked)
