"""Language model behind an OpenAI-compatible endpoint: `vllm serve`, Ollama, a hosted model.

A fault that concerns one prompt is an error of its reply. A fault of the endpoint as a whole (a wrong key, an unknown
model, nobody there) ends the run by a ConfigError at its first sight: it would turn every chunk into a reject.
Requests wait on an event loop in a thread of its own, so `generate` is synchronous and several threads may call it.
"""

import asyncio
import email.utils
import ipaddress
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import tenacity

from teleembed_ray.config import EndpointConfig
from teleembed_ray.errors import ConfigError, RetryableError
from teleembed_ray.llm.protocol import Prompt, Reply, Sampling, YesNo

TRANSIENT_STATUSES = {408, 409, 425, 429}
FATAL_STATUSES = {401, 402, 403, 404, 405}
# The longest that one answer, or a server's own Retry-After, makes a request wait.
MAX_WAIT_S = 300.0
FIRST_WAIT_S = 0.5
# A throttled request goes on being sent; after this long the limit is no storm that passes.
MAX_THROTTLED_S = 3600.0
MODELS_TIMEOUT_S = 10.0
MAX_WORDS = 300

CONTEXT_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|max|available) context|context (length|window)"
    r"|maximum model length|prompt (is )?too long",
    re.IGNORECASE,
)


@dataclass
class _Attempts:
    """What has been sent for one prompt so far; being throttled uses up no retry."""

    num_requests: int = 0
    num_failures: int = 0
    first_throttled: float | None = None


class _TransientFaultError(RetryableError):
    def __init__(self, words: str, *, wait_s: float | None = None, throttled: bool = False, refused: bool = False):
        super().__init__(words)
        self.wait_s = wait_s
        self.throttled = throttled
        self.refused = refused


class _RequestError(Exception):
    """The server will not answer this one prompt; the message is the error of its reply."""


class OpenAiEngine:
    """A model of an OpenAI-compatible server; made by `load_openai_engine`."""

    def __init__(self, model: str, endpoint: EndpointConfig) -> None:
        self.name = model
        # Weights behind an endpoint have no revision that could be checked.
        self.revision: str | None = None
        self._endpoint = endpoint
        self._url = endpoint.url.rstrip("/")
        self._key = _read_key(endpoint)
        self._limit_name = "max_tokens"
        self._interval_s = 60.0 / endpoint.requests_per_minute if endpoint.requests_per_minute else 0.0
        self._next_start = 0.0
        self._places = asyncio.Semaphore(endpoint.concurrency)
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=endpoint.timeout_s,
            # Requests are bounded before they get here, so that no timeout runs while one waits for its place.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=endpoint.concurrency),
            follow_redirects=False,
            # A proxy cannot reach this machine's own loopback.
            trust_env=not _is_loopback(self._url),
        )
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="openai-endpoint", daemon=True).start()

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, schema: Mapping[str, Any] | None = None
    ) -> list[Reply]:
        """prompts -> replies, one each in the same order; a raw text is sent as one user message.

        Tokens are those of the server's `usage`, 0 where it gives none. Raises ConfigError where the endpoint as a
        whole is wrong.
        """
        replies: list[Reply] = self._run(self._answer_all([self._body(prompt, sampling, schema) for prompt in prompts]))
        return replies

    def weigh_yes_no(self, prefixes: Sequence[str], endings: Sequence[Sequence[str]]) -> list[YesNo]:
        """Raise ConfigError: servers cut log-probabilities to the likeliest few, so odds would have gaps."""
        raise ConfigError(f"{self.name}: an endpoint cannot weigh yes against no: use style json")

    def check_model(self) -> None:
        """Raise ConfigError where the server is out of reach, or has a list of models and this one is not on it."""
        self._run(self._check_model())

    def close(self) -> None:
        """Close connections and end the thread."""
        self._run(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, work: Any) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _answer_all(self, bodies: Sequence[dict[str, Any]]) -> list[Reply]:
        tasks = [asyncio.create_task(self._answer(body)) for body in bodies]
        try:
            return await asyncio.gather(*tasks)
        finally:
            # What ended the run ends the requests that are still under way.
            for task in tasks:
                task.cancel()

    async def _answer(self, body: dict[str, Any]) -> Reply:
        attempts = _Attempts()
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(_TransientFaultError),
            stop=lambda state: self._is_over(attempts, state),
            wait=_wait_s,
            reraise=True,
        )
        try:
            return await retrying(self._try, body, attempts)
        except _RequestError as error:
            return Reply("", "error", 0, 0, str(error), attempts.num_requests)
        except _TransientFaultError as error:
            if error.throttled:
                raise self._failure(f"{error}: lower requests_per_minute or concurrency") from None
            if error.refused:
                raise self._failure(f"cannot be reached ({error}): start the server or correct url") from None
            return Reply("", "error", 0, 0, f"engine_error: {error}", attempts.num_requests)

    async def _try(self, body: dict[str, Any], attempts: _Attempts) -> Reply:
        limit_name = self._limit_name
        response = await self._post(_renamed(body, limit_name), attempts)
        if response.status_code == 400 and limit_name == "max_tokens" and "max_completion_tokens" in response.text:
            self._limit_name = "max_completion_tokens"
            response = await self._post(_renamed(body, self._limit_name), attempts)
        return self._read(response, attempts)

    async def _post(self, body: dict[str, Any], attempts: _Attempts) -> httpx.Response:
        async with self._places:
            await self._wait_for_turn()
            attempts.num_requests += 1
            try:
                # httpx limits each read; a server that drips would never end.
                async with asyncio.timeout(self._endpoint.timeout_s):
                    return await self._client.post(f"{self._url}/chat/completions", json=body)
            except (TimeoutError, httpx.TimeoutException):
                raise _TransientFaultError(f"no answer within timeout_s {self._endpoint.timeout_s:g}") from None
            except httpx.ConnectError as error:
                raise _TransientFaultError(self._words(str(error)), refused=True) from None
            except httpx.TransportError as error:
                words = self._words(str(error)) or type(error).__name__
                raise _TransientFaultError(f"connection lost: {words}") from None

    async def _wait_for_turn(self) -> None:
        now = self._loop.time()
        start = max(now, self._next_start)
        self._next_start = start + self._interval_s
        await asyncio.sleep(start - now)

    def _is_over(self, attempts: _Attempts, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        now = self._loop.time()
        if isinstance(error, _TransientFaultError) and error.throttled:
            # The whole engine slows down: other prompts would only be turned away as well.
            self._next_start = max(self._next_start, now + (error.wait_s or 0.0))
            attempts.first_throttled = attempts.first_throttled or now
            return now - attempts.first_throttled > MAX_THROTTLED_S
        attempts.num_failures += 1
        return attempts.num_failures > self._endpoint.max_retries

    def _read(self, response: httpx.Response, attempts: _Attempts) -> Reply:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        status = response.status_code
        if status == 200 and not isinstance(answer, dict):
            raise _RequestError(f"engine_error: 200 and no JSON object: {self._words(response.text)}")
        error = answer.get("error") if isinstance(answer, dict) else None
        if status == 200 and not error:
            return self._read_choice(answer, attempts.num_requests)
        details = error if isinstance(error, dict) else {}
        if status == 200 and isinstance(details.get("code"), int):
            status = details["code"]
        words = self._words(str(details.get("message") or error or response.text))
        raise self._fault(status, words, details, response.headers.get("Retry-After"))

    def _fault(self, status: int, words: str, details: Mapping[str, Any], retry_after: str | None) -> Exception:
        code, param = str(details.get("code") or ""), details.get("param")
        said = f"{status}: {words}"
        if status in (400, 413) and CONTEXT_OVERFLOW.search(f"{code} {details.get('type')} {words}"):
            return _RequestError(f"prompt_too_long: {words}")
        if code == "insufficient_quota":
            return self._failure(f"{said}: the account's quota is used up")
        if status in TRANSIENT_STATUSES or status >= 500:
            return _TransientFaultError(said, wait_s=retry_after_s(retry_after), throttled=status == 429)
        if status in FATAL_STATUSES or 300 <= status < 400:
            return self._failure(f"{said}: check url, model and the key that api_key_env names")
        if status == 400 and param in ("response_format", "temperature", "top_p", "seed"):
            return self._failure(f"{said}: the server does not take {param}: change it, or endpoint.structured")
        if code == "content_filter":
            return _RequestError(f"refused: {words}")
        return _RequestError(f"engine_error: {said}")

    def _read_choice(self, answer: Mapping[str, Any], num_requests: int) -> Reply:
        choices = answer.get("choices")
        # One was asked for; where there are more, the first is the reply.
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise _RequestError("engine_error: 200 and no choice with a message")
        usage = answer["usage"] if isinstance(answer.get("usage"), dict) else {}
        prompt_tokens, output_tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        reason: Any = choice.get("finish_reason")
        text: Any = message.get("content")
        problem = None
        if message.get("refusal") or reason == "content_filter":
            problem = f"refused: {self._words(str(message.get('refusal') or 'stopped by the content filter'))}"
        elif not text and (message.get("reasoning_content") or message.get("reasoning")):
            problem = f"engine_error: reasoning and no answer (finish_reason {reason}): raise max_tokens"
        elif not isinstance(text, str):
            problem = f"engine_error: the reply has no text (finish_reason {reason})"
        elif reason not in ("stop", "length"):
            problem = f"engine_error: unknown finish_reason {reason}"
        if problem:
            return Reply("", "error", prompt_tokens, output_tokens, problem, num_requests)
        return Reply(text, reason, prompt_tokens, output_tokens, num_requests=num_requests)

    async def _check_model(self) -> None:
        try:
            response = await self._client.get(f"{self._url}/models", timeout=MODELS_TIMEOUT_S)
        except httpx.TransportError as error:
            words = self._words(str(error)) or type(error).__name__
            raise self._failure(f"cannot be reached ({words}): start the server or correct url") from None
        if response.status_code in (401, 403):
            raise self._failure(
                f"{response.status_code}: {self._words(response.text)}: check the key that api_key_env names"
            )
        try:
            listed = sorted(str(entry["id"]) for entry in response.json()["data"])
        except (ValueError, KeyError, TypeError):
            # Not every server has this route.
            return
        # Ollama lists a model without a tag as its latest.
        if response.status_code == 200 and self.name not in listed and f"{self.name}:latest" not in listed:
            raise self._failure(f"there is no such model; the server lists {', '.join(listed[:20]) or 'none'}")

    def _body(self, prompt: Prompt, sampling: Sampling, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(part) for part in prompt]
        body: dict[str, Any] = {
            "model": self.name,
            "messages": messages,
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        if schema is not None and self._endpoint.structured == "json_schema":
            named = {"name": "reply", "schema": dict(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and self._endpoint.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _failure(self, what: str) -> ConfigError:
        return ConfigError(f"endpoint {self._url}: model {self.name!r}: {what}")

    def _words(self, text: str) -> str:
        """Return a server's words as a line; some servers repeat the key that they refuse."""
        return " ".join((text.replace(self._key, "***") if self._key else text).split())[:MAX_WORDS]


def load_openai_engine(model: str, endpoint: EndpointConfig) -> OpenAiEngine:
    """(model, endpoint) -> an engine whose server is there and knows the model; raises ConfigError otherwise."""
    engine = OpenAiEngine(model, endpoint)
    try:
        engine.check_model()
    except ConfigError:
        engine.close()
        raise
    return engine


def retry_after_s(header: str | None) -> float | None:
    """Retry-After (seconds or a date) -> seconds from now, at most MAX_WAIT_S; null where there is none to read."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), MAX_WAIT_S) if seconds == seconds else None


def _renamed(body: Mapping[str, Any], limit: str) -> dict[str, Any]:
    return {limit if key == "max_tokens" else key: value for key, value in body.items()}


def _wait_s(state: tenacity.RetryCallState) -> float:
    """Wait as long as the server asks, else twice as long each time, with jitter so that requests do not march."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait_s if isinstance(error, _TransientFaultError) else None
    if asked is not None:
        return asked
    return tenacity.wait_random_exponential(multiplier=FIRST_WAIT_S, max=MAX_WAIT_S)(state)


def _read_key(endpoint: EndpointConfig) -> str | None:
    if endpoint.api_key_env is None:
        return None
    key = os.environ.get(endpoint.api_key_env, "").strip()
    if not key or not key.isascii():
        raise ConfigError(f"endpoint.api_key_env: {endpoint.api_key_env}: holds no key in this worker's environment")
    return key


def _is_loopback(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
