import email.utils
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from teleembed_ray.config import EndpointConfig, LlmConfig, ValidatorConfig
from teleembed_ray.errors import ConfigError
from teleembed_ray.llm import openai_engine
from teleembed_ray.llm.openai_engine import OpenAiEngine, load_openai_engine, retry_after_s
from teleembed_ray.llm.protocol import Sampling
from teleembed_ray.models import resolve_llm
from tests.llm.scripted_server import Answer, Server, chat, fault, serve

SAMPLING = Sampling(max_tokens=5)
Script = Callable[[int, dict[str, Any]], Answer]


@contextmanager
def engine_of(script: Script, **settings: Any) -> Iterator[tuple[OpenAiEngine, Server]]:
    with serve(script) as server:
        engine = load_openai_engine("m", EndpointConfig(url=server.url, **settings))
        try:
            yield engine, server
        finally:
            engine.close()


def in_turn(*answers: Answer) -> Script:
    return lambda number, body: answers[min(number, len(answers) - 1)]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_engine, "FIRST_WAIT_S", 0.01)


def test_the_first_request_answered_last_is_still_the_first_reply() -> None:
    others = threading.Semaphore(0)

    def script(number: int, body: dict[str, Any]) -> Answer:
        text = body["messages"][0]["content"]
        if text == "0":
            for _ in range(3):
                assert others.acquire(timeout=10)
        else:
            others.release()
        return chat(text)

    with engine_of(script, concurrency=4) as (engine, _):
        replies = engine.generate(["0", "1", "2", "3"], SAMPLING)
    assert [reply.text for reply in replies] == ["0", "1", "2", "3"]
    assert (replies[0].num_prompt_tokens, replies[0].num_output_tokens, replies[0].num_requests) == (7, 3, 1)


def test_no_more_requests_than_concurrency_are_under_way() -> None:
    second, third, is_checked = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def script(number: int, body: dict[str, Any]) -> Answer:
        if number == 0:
            # Both places are taken until this has seen that nobody else comes.
            seen.extend([second.wait(10), third.wait(0.3)])
            is_checked.set()
        elif number == 1:
            second.set()
            is_checked.wait(10)
        else:
            third.set()
        return chat("x")

    with engine_of(script, concurrency=2) as (engine, _):
        engine.generate([str(i) for i in range(8)], SAMPLING)
    assert seen == [True, False]


@pytest.mark.parametrize(
    "first",
    [
        fault(500, "oops"),
        fault(503, "busy"),
        fault(408, "late"),
        Answer(chat("half a body").body, cut=True),
        fault(429, "slow down", {"Retry-After": "0"}),
        Answer({"error": {"message": "upstream", "code": 502}}),
    ],
)
def test_a_fault_that_passes_is_tried_again_and_counted(first: Answer) -> None:
    with engine_of(in_turn(first, chat("fine"))) as (engine, _):
        [reply] = engine.generate(["q"], SAMPLING)
    assert (reply.text, reply.error, reply.num_requests) == ("fine", None, 2)


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_request_is_not_sent_again(status: int) -> None:
    with engine_of(in_turn(fault(status, "bad\nrequest"))) as (engine, server):
        [reply] = engine.generate(["q"], SAMPLING)
    assert reply.error == f"engine_error: {status}: bad request"
    assert len(server.bodies) == 1


def test_retries_end() -> None:
    with engine_of(in_turn(fault(500, "oops")), max_retries=2) as (engine, server):
        [reply] = engine.generate(["q"], SAMPLING)
    assert (reply.error, reply.num_requests, len(server.bodies)) == ("engine_error: 500: oops", 3, 3)


def test_a_storm_of_429_uses_up_no_retries() -> None:
    storm = [fault(429, "slow down", {"Retry-After": "0"})] * 6
    with engine_of(in_turn(*storm, chat("fine")), max_retries=1) as (engine, _):
        [reply] = engine.generate(["q"], SAMPLING)
    assert (reply.text, reply.num_requests) == ("fine", 7)


def test_a_reply_later_than_the_timeout_is_an_error_and_not_a_hang() -> None:
    is_given_up = threading.Event()

    def script(number: int, body: dict[str, Any]) -> Answer:
        is_given_up.wait(10)
        return chat("late")

    with engine_of(script, timeout_s=0.05, max_retries=0) as (engine, _):
        [reply] = engine.generate(["q"], SAMPLING)
        is_given_up.set()
    assert reply.error == "engine_error: no answer within timeout_s 0.05"


TWO_CHOICES = Answer({"choices": [*chat("first").body["choices"], *chat("second").body["choices"]]})


@pytest.mark.parametrize(
    ("answer", "text", "error"),
    [
        (Answer("<html>hello</html>"), "", "engine_error: 200 and no JSON object: <html>hello</html>"),
        (Answer({"error": "boom"}), "", "engine_error: 200: boom"),
        (Answer({"choices": []}), "", "engine_error: 200 and no choice with a message"),
        (chat(None), "", "engine_error: the reply has no text (finish_reason stop)"),
        (
            chat("", "length", reasoning_content="hm"),
            "",
            "engine_error: reasoning and no answer (finish_reason length): raise max_tokens",
        ),
        (chat(None, refusal="I cannot"), "", "refused: I cannot"),
        (chat("half", "content_filter"), "", "refused: stopped by the content filter"),
        (chat("half", None), "", "engine_error: unknown finish_reason None"),
        (TWO_CHOICES, "first", None),
        (
            fault(400, "This model's maximum context length is 8 tokens", code="context_length_exceeded"),
            "",
            "prompt_too_long: This model's maximum context length is 8 tokens",
        ),
    ],
)
def test_every_odd_answer_has_its_word(answer: Answer, text: str, error: str | None) -> None:
    with engine_of(in_turn(answer)) as (engine, _):
        [reply] = engine.generate(["q"], SAMPLING)
    assert (reply.text, reply.error) == (text, error)


@pytest.mark.parametrize("status", [301, 401, 403, 404])
def test_an_endpoint_that_is_wrong_altogether_ends_the_run_at_the_first_answer(status: int) -> None:
    with engine_of(in_turn(fault(status, "go away")), concurrency=1) as (engine, server):
        said = rf"endpoint {server.url}: model 'm': {status}: go away: check url"
        with pytest.raises(ConfigError, match=said):
            engine.generate([str(i) for i in range(50)], SAMPLING)
        # One place, first come first served: what was not called off would be sent before this.
        with pytest.raises(ConfigError, match=said):
            engine.generate(["last"], SAMPLING)
        assert len(server.bodies) <= 3


def test_a_server_that_is_gone_ends_the_run_after_all_retries() -> None:
    with serve(in_turn(chat("x"))) as server:
        engine = load_openai_engine("m", EndpointConfig(url=server.url, max_retries=2))
    with pytest.raises(ConfigError, match="cannot be reached"):
        engine.generate(["q"] * 3, SAMPLING)
    engine.close()
    with pytest.raises(ConfigError, match="cannot be reached"):
        load_openai_engine("m", EndpointConfig(url=server.url))


def test_a_model_that_the_server_does_not_list_is_named_with_those_it_does() -> None:
    with (
        serve(in_turn(chat("x")), Answer({"data": [{"id": "a"}, {"id": "b"}]})) as server,
        pytest.raises(ConfigError, match="the server lists a, b"),
    ):
        load_openai_engine("m", EndpointConfig(url=server.url))


def test_a_server_without_a_list_of_models_is_let_through() -> None:
    with serve(in_turn(chat("x")), fault(404, "no route")) as server:
        load_openai_engine("m", EndpointConfig(url=server.url)).close()


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-hidden")
    with engine_of(in_turn(chat("x"), fault(401, "wrong: sk-hidden")), api_key_env="SOME_KEY") as (engine, server):
        engine.generate(["q"], SAMPLING)
        with pytest.raises(ConfigError) as raised:
            engine.generate(["q"], SAMPLING)
    assert server.headers[0]["Authorization"] == "Bearer sk-hidden"
    assert "sk-hidden" not in f"{raised.value} {engine!r} {engine._client.headers!r}"
    assert "***" in str(raised.value)


def test_a_key_that_is_named_and_not_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(ConfigError, match="SOME_KEY"):
        load_openai_engine("m", EndpointConfig(url="http://127.0.0.1:9/v1", api_key_env="SOME_KEY"))


def test_a_server_that_refuses_max_tokens_is_asked_by_the_newer_name_from_then_on() -> None:
    refusal = fault(400, "Unsupported parameter: use 'max_completion_tokens' instead.", param="max_tokens")
    with engine_of(in_turn(refusal, chat("x")), max_retries=0) as (engine, server):
        assert [engine.generate(["q"], SAMPLING)[0].num_requests for _ in range(2)] == [2, 1]
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 5, 5]
    assert "max_tokens" not in server.bodies[1]


@pytest.mark.parametrize(
    ("structured", "kind"), [("json_schema", "json_schema"), ("json_object", "json_object"), ("none", None)]
)
def test_a_schema_is_asked_for_as_the_server_can_hold_it(structured: str, kind: str | None) -> None:
    with engine_of(in_turn(chat("{}")), structured=structured) as (engine, server):
        engine.generate(["q"], SAMPLING, {"type": "object"})
    assert server.bodies[0].get("response_format", {}).get("type") == kind


def test_requests_per_minute_spaces_the_starts() -> None:
    with engine_of(in_turn(chat("x")), requests_per_minute=1200) as (engine, _):
        started = time.monotonic()
        engine.generate(["q"] * 5, SAMPLING)
        # Four gaps of 50 ms.
        assert time.monotonic() - started >= 0.2


def test_retry_after_is_seconds_or_a_date_and_is_capped() -> None:
    assert retry_after_s("7") == 7.0
    assert retry_after_s("99999") == 300.0
    assert retry_after_s("-1") == 0.0
    assert retry_after_s("soon") is None
    assert retry_after_s("nan") is None
    assert retry_after_s(None) is None
    assert retry_after_s(email.utils.formatdate(time.time() + 60, usegmt=True)) == pytest.approx(60, abs=2)


def test_an_endpoints_model_is_resolved_without_asking_anybody() -> None:
    endpoint = EndpointConfig(url="http://127.0.0.1:9/v1")
    source = resolve_llm("generator", LlmConfig(model="llama3.2:3b", engine="openai", endpoint=endpoint))
    assert (source.name, source.revision) == ("llama3.2:3b", None)
    with pytest.raises(ConfigError, match=r"generator\.revision"):
        resolve_llm("generator", LlmConfig(model="m", engine="openai", endpoint=endpoint, revision="abc"))
    few_shot = ValidatorConfig(model="m", engine="openai", endpoint=endpoint, style="few_shot")
    with pytest.raises(ConfigError, match="use json"):
        resolve_llm("validator", few_shot)
