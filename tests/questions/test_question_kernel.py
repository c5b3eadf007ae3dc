"""Kernels with a scripted engine: one row in, one row out, whatever the engine does."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from teleembed_ray import ids, schemas
from teleembed_ray.llm.protocol import Prompt, Reply, Sampling, YesNo
from teleembed_ray.questions.kernel import (
    acceptance_summary,
    excerpt,
    few_shot_habit,
    generate_table,
    select_pairs,
    validate_table,
)
from teleembed_ray.questions.prompts import CRITERIA, FEW_SHOT_ENDINGS

SAMPLING = Sampling(64)
ALL_TRUE = dict.fromkeys(CRITERIA, True)


def written(text: str) -> Reply:
    return Reply(text, "stop", 100, 10)


@dataclass
class ScriptedEngine:
    """Answers by looking for a word in the prompt; records what it was asked."""

    reply: Callable[[str], Reply]
    odds: Callable[[str, str], float] = lambda prefix, ending: 0.0
    name: str = "scripted"
    revision: str | None = None
    asked: list[str] = field(default_factory=list)
    extra: int = 0

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, schema: Mapping[str, Any] | None = None
    ) -> list[Reply]:
        texts = [prompt if isinstance(prompt, str) else prompt[-1]["content"] for prompt in prompts]
        self.asked += texts
        return [self.reply(text) for text in texts] + [written("")] * self.extra

    def weigh_yes_no(self, prefixes: Sequence[str], endings: Sequence[Sequence[str]]) -> list[YesNo]:
        self.asked += prefixes
        return [
            YesNo(tuple(self.odds(prefix, end) for end in ends), 50)
            for prefix, ends in zip(prefixes, endings, strict=True)
        ]


def chunks_of(*texts: str) -> pa.Table:
    rows = [
        {"chunk_id": f"c{i}", "doc_id": "d", "corpus": "oran", "chunk_size": 512, "num_tokens": 7, "text": text}
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schemas.CHUNKS)


def ask(chunk: str) -> Reply:
    if "TOO LONG" in chunk:
        return Reply("", "error", 9000, 0, "prompt_too_long: 9000 prompt tokens")
    if "CRASH" in chunk:
        return Reply("", "error", 5, 0, "CUDA went away")
    if "SILENT" in chunk:
        return written("")
    if "VAGUE" in chunk:
        return written("What does the passage say?")
    word = next(word for word in chunk.split() if word.startswith("T3"))
    return written(f"When does the UE start {word}?")


def judge(prompt: str) -> Reply:
    verdict = ALL_TRUE | {"reasoning": "ok"}
    if "T301" in prompt:
        verdict |= {"specific": False, "top_result": False}
    return written("nonsense" if "T302" in prompt else json.dumps(verdict))


def test_every_chunk_comes_out_once_with_its_own_verdict() -> None:
    texts = ["about T300", "about T301", "about T302", "TOO LONG", "CRASH", "SILENT", "VAGUE"]
    generator, validator = ScriptedEngine(ask), ScriptedEngine(judge, name="judge")
    out = validate_table(generate_table(chunks_of(*texts), generator, SAMPLING), validator, "json", SAMPLING)
    assert out.schema == schemas.CANDIDATES
    assert dict(zip(out["chunk_id"].to_pylist(), out["verdict"].to_pylist(), strict=True)) == {
        "c0": "accepted",
        "c1": "not_specific",
        "c2": "malformed_reply",
        "c3": "prompt_too_long",
        "c4": "engine_error",
        "c5": "empty",
        "c6": "refers_to_unseen_context",
    }
    assert out["accepted"].to_pylist() == [True] + [False] * 6
    assert out["specific"].to_pylist() == [True, False, None, None, None, None, None]
    assert out["top_result"].to_pylist() == [True, False, None, None, None, None, None]
    assert out["question_id"].to_pylist()[0] == ids.question_id("c0", "When does the UE start T300?")
    assert out["question_id"].to_pylist()[3] == ids.question_id("c3", "")
    assert out["num_prompt_tokens"].to_pylist() == [200, 200, 200, 9000, 5, 100, 100]
    assert "CUDA went away" in out["reasoning"].to_pylist()[4]
    assert set(out["generator"].to_pylist()) == {"scripted"}
    assert set(out["validator"].to_pylist()) == {"judge"}


def test_the_validator_is_not_asked_about_what_a_rule_refused() -> None:
    validator = ScriptedEngine(judge)
    validate_table(
        generate_table(chunks_of("VAGUE", "SILENT", "about T300"), ScriptedEngine(ask), SAMPLING),
        validator,
        "json",
        SAMPLING,
    )
    assert len(validator.asked) == 1


def test_a_table_of_refused_questions_needs_no_validator() -> None:
    for style in ("json", "few_shot"):
        validator = ScriptedEngine(judge)
        out = validate_table(
            generate_table(chunks_of("VAGUE"), ScriptedEngine(ask), SAMPLING), validator, style, SAMPLING
        )
        assert (out.num_rows, validator.asked) == (1, [])


def test_one_reply_too_many_is_refused_and_not_shifted() -> None:
    with pytest.raises(RuntimeError, match="3 replies to 2 prompts"):
        generate_table(chunks_of("about T300", "about T301"), ScriptedEngine(ask, extra=1), SAMPLING)


def test_few_shot_subtracts_the_habit_of_saying_yes() -> None:
    # By habit this engine gives +1 to everything; for T300 it gives +3, for T301 only +0.5 to the last criterion.
    def odds(prefix: str, ending: str) -> float:
        last = prefix.rsplit("Question: ", 1)[1]
        if "T301" in last:
            return 0.5 if ending == FEW_SHOT_ENDINGS["top_result"] else 2.0
        return 3.0 if "T300" in last else 1.0

    engine = ScriptedEngine(ask, odds)
    assert few_shot_habit(engine) == (1.0, 1.0, 1.0, 1.0)
    out = validate_table(
        generate_table(chunks_of("about T300", "about T301", "T302"), engine, SAMPLING), engine, "few_shot", SAMPLING
    )
    # T302 gets what habit gives and no more, which is not above the threshold.
    assert out["verdict"].to_pylist() == ["accepted", "not_top_result", "not_substantive"]
    assert (
        out["reasoning"]
        .to_pylist()[1]
        .endswith("substantive +1.00, specific +1.00, answerable +1.00, top_result -0.50")
    )


def accepted_rows(num_rows: int) -> tuple[pa.Table, pa.Table]:
    chunks = chunks_of(*(f"about T3{i:02}" for i in range(num_rows)))
    return validate_table(
        generate_table(chunks, ScriptedEngine(ask), SAMPLING),
        ScriptedEngine(lambda _: written(json.dumps(ALL_TRUE))),
        "json",
        SAMPLING,
    ), chunks


def test_which_pairs_are_kept_depends_on_the_seed_and_not_on_the_order_of_rows() -> None:
    candidates, chunks = accepted_rows(20)
    pairs = select_pairs(candidates, chunks, 5, seed=7)
    turned = candidates.take(list(reversed(range(20))))
    assert select_pairs(turned, chunks, 5, seed=7).equals(pairs)
    expected = sorted(chunks["chunk_id"].to_pylist(), key=lambda chunk_id: ids.seeded_order(7, chunk_id))[:5]
    assert pairs["chunk_id"].to_pylist() == expected
    assert select_pairs(candidates, chunks, 5, seed=8)["chunk_id"].to_pylist() != expected
    assert pairs.schema == schemas.PAIRS
    text_of = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    assert pairs["chunk_text"].to_pylist() == [text_of[chunk_id] for chunk_id in expected]


def test_more_quota_only_adds_pairs() -> None:
    candidates, chunks = accepted_rows(20)
    assert select_pairs(candidates, chunks, 9, 7).slice(0, 5).equals(select_pairs(candidates, chunks, 5, 7))


def test_acceptance_counts_every_candidate() -> None:
    out = validate_table(
        generate_table(chunks_of("about T300", "about T301", "SILENT", "SILENT"), ScriptedEngine(ask), SAMPLING),
        ScriptedEngine(judge),
        "json",
        SAMPLING,
    )
    assert acceptance_summary(out).select(["verdict", "num_questions", "fraction"]).to_pylist() == [
        {"verdict": "empty", "num_questions": 2, "fraction": 0.5},
        {"verdict": "accepted", "num_questions": 1, "fraction": 0.25},
        {"verdict": "not_specific", "num_questions": 1, "fraction": 0.25},
    ]


def test_an_excerpt_ends_between_words_where_it_can() -> None:
    assert excerpt("one two three", 100) == "one two three"
    assert excerpt("aaaaaaaaaaaaaaaaaa bbbb cccc", 20) == "aaaaaaaaaaaaaaaaaa"
    assert excerpt("a" * 30, 20) == "a" * 20
