"""chunks -> questions -> candidates -> pairs; rows are joined by id and every chunk that went in comes out once."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray import ids, schemas
from teleembed_ray.llm.protocol import Engine, Sampling
from teleembed_ray.questions.parse import FAILED, copies_example, is_clean, parse_question, parse_verdict
from teleembed_ray.questions.prompts import (
    CONTENT_FREE,
    CRITERIA,
    FEW_SHOT_ENDINGS,
    PROMPT_VERSION,
    VERDICT_SCHEMA,
    few_shot_prefix,
    generator_messages,
    validator_messages,
)

ACCEPTED = "accepted"
# What an engine's error on one prompt may open with; all else is engine_error.
PROMPT_PROBLEMS = frozenset({"prompt_too_long", "refused"})

# Between the two models: the chunk with its question, or with `problem`, the word that says why there is none to judge.
QUESTIONS = pa.schema(
    [
        ("chunk_id", schemas.ID),
        ("doc_id", schemas.ID),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("text", schemas.TEXT),
        ("question", schemas.TEXT),
        ("problem", pa.string()),
        ("generator", pa.string()),
        ("reasoning", schemas.TEXT),
        ("num_prompt_tokens", pa.int32()),
        ("num_output_tokens", pa.int32()),
    ]
)

# Log-odds that a criterion must exceed in the few-shot style, above the model's habit. Zero is where the model finds
# yes likelier than it does without any content; it was fitted to nothing.
THRESHOLDS: Mapping[str, float] = dict.fromkeys(CRITERIA, 0.0)

_ENDINGS = [FEW_SHOT_ENDINGS[name] for name in CRITERIA]

Row = dict[str, Any]


def generate_table(
    chunks: pa.Table,
    engine: Engine,
    sampling: Sampling,
    max_chunk_chars: int | None = None,
) -> pa.Table:
    """chunks -> questions (schema QUESTIONS), one row a chunk in input order; the engine gets the whole table at once.

    With `max_chunk_chars` both models read the start of a longer chunk only: cheaper, and a question that the start
    answers is answered by the chunk. An engine's error on one prompt is that row's `problem`.
    """
    rows = chunks.select(["chunk_id", "doc_id", "corpus", "chunk_size", "text"]).to_pylist()
    prompts = [generator_messages(excerpt(row["text"], max_chunk_chars)) for row in rows]
    replies = engine.generate(prompts, sampling)
    _check_count(engine, len(rows), len(replies))
    for row, reply in zip(rows, replies, strict=True):
        row.update(
            question=None,
            generator=engine.name,
            num_prompt_tokens=reply.num_prompt_tokens,
            num_output_tokens=reply.num_output_tokens,
            reasoning=reply.error,
            problem=_engine_problem(reply.error),
        )
        if row["problem"] is None:
            parsed = parse_question(reply.text, is_cut=reply.finish_reason == "length")
            # What was written instead of a question is kept for the reader of the table.
            problem = parsed.problem
            if problem is None and copies_example(parsed.question or "", row["text"]):
                problem = "copied_example"
            row.update(question=parsed.question, problem=problem, reasoning=problem and reply.text)
        row["text"] = excerpt(row["text"], max_chunk_chars)
    return pa.Table.from_pylist(rows, QUESTIONS)


def validate_table(
    questions: pa.Table,
    engine: Engine,
    style: str,
    sampling: Sampling,
    thresholds: Mapping[str, float] = THRESHOLDS,
    habit: Sequence[float] | None = None,
) -> pa.Table:
    """questions -> candidates (schemas.CANDIDATES), one row a question in input order.

    `style` is "json" for instruct models or "few_shot" for base models. A question is accepted when all four criteria
    hold; else `verdict` is the first criterion that does not (not_substantive, not_specific, not_answerable,
    not_top_result), or why it was not judged, and then the criteria are null. `num_*_tokens` count both models. In the
    few-shot style `habit` saves measuring it for every table: see `few_shot_habit`. ValueError for an unknown style.

    A weak base model is at chance here: Gemma 3 270M preferred a question's own passage to another one in 8 of 16 cases
    at best. It shows the mechanism; an acceptance rate of it says nothing about the questions.
    """
    rows = questions.to_pylist()
    judged = [row for row in rows if row["problem"] is None]
    if style == "few_shot":
        _judge_few_shot(judged, engine, thresholds, habit)
    elif style == "json":
        _judge_json(judged, engine, sampling)
    else:
        raise ValueError(f"style {style!r}: must be json or few_shot")
    for row in rows:
        criteria = [row.get(name) for name in CRITERIA]
        failed = next((FAILED[name] for name in CRITERIA if row.get(name) is False), None)
        accepted = row["problem"] is None and all(verdict is True for verdict in criteria)
        row.update(
            accepted=accepted,
            verdict=row["problem"] or failed or ACCEPTED,
            question_id=ids.question_id(row["chunk_id"], row["question"] or ""),
            validator=engine.name,
            prompt_version=PROMPT_VERSION,
        )
    return pa.Table.from_pylist(rows, schemas.CANDIDATES)


def _judge_json(rows: list[Row], engine: Engine, sampling: Sampling) -> None:
    prompts = [validator_messages(row["text"], row["question"]) for row in rows]
    replies = engine.generate(prompts, sampling, VERDICT_SCHEMA) if prompts else []
    _check_count(engine, len(rows), len(replies))
    for row, reply in zip(rows, replies, strict=True):
        row["num_prompt_tokens"] += reply.num_prompt_tokens
        row["num_output_tokens"] += reply.num_output_tokens
        row.update(problem=_engine_problem(reply.error), reasoning=reply.error)
        if row["problem"] is None:
            parsed = parse_verdict(reply.text, is_cut=reply.finish_reason == "length")
            row.update(problem=parsed.problem, reasoning=parsed.reasoning)
            row.update(zip(CRITERIA, parsed.criteria or (None,) * len(CRITERIA), strict=True))


def _judge_few_shot(
    rows: list[Row], engine: Engine, thresholds: Mapping[str, float], habit: Sequence[float] | None
) -> None:
    """A base model says yes by habit, so what it says without any content is subtracted."""
    if not rows:
        return
    free = few_shot_habit(engine) if habit is None else habit
    prefixes = [few_shot_prefix(row["text"], row["question"]) for row in rows]
    answers = engine.weigh_yes_no(prefixes, [_ENDINGS] * len(prefixes))
    _check_count(engine, len(rows), len(answers))
    for row, answer in zip(rows, answers, strict=True):
        row["num_prompt_tokens"] += answer.num_prompt_tokens
        row.update(problem=_engine_problem(answer.error), reasoning=answer.error)
        if answer.error is None:
            log_odds = dict(zip(CRITERIA, map(float.__sub__, answer.log_odds, free), strict=True))
            row.update({name: odds > thresholds[name] for name, odds in log_odds.items()})
            shown = ", ".join(f"{name} {odds:+.2f}" for name, odds in log_odds.items())
            row["reasoning"] = f"log-odds of yes against no, above habit: {shown}"


def few_shot_habit(engine: Engine) -> tuple[float, ...]:
    """engine -> the log-odds that each criterion gets without content, the mean over three content-free inputs.

    Contextual calibration after Zhao et al. (2021). Raises RuntimeError where the engine cannot even take these.
    """
    prefixes = [few_shot_prefix(nothing, nothing) for nothing in CONTENT_FREE]
    answers = engine.weigh_yes_no(prefixes, [_ENDINGS] * len(prefixes))
    for answer in answers:
        if answer.error is not None:
            raise RuntimeError(f"{engine.name}: the few-shot examples alone give {answer.error}")
    return tuple(sum(odds) / len(odds) for odds in zip(*(answer.log_odds for answer in answers), strict=True))


def select_pairs(candidates: pa.Table, chunks: pa.Table, quota: int, seed: int) -> pa.Table:
    """(candidates, chunks) -> pairs (schemas.PAIRS): the first `quota` accepted in the seeded order of their chunks.

    The result does not depend on the order of the rows. `chunks` needs chunk_id, text and num_tokens, and may hold more
    chunks than are accepted; a missing one is a KeyError.
    """
    accepted = candidates.filter(candidates["accepted"]).to_pylist()
    accepted.sort(key=lambda row: (ids.seeded_order(seed, row["chunk_id"]), row["question_id"]))
    kept = accepted[:quota]
    wanted = pa.array([row["chunk_id"] for row in kept], schemas.ID)
    columns = chunks.select(["chunk_id", "text", "num_tokens"])
    columns = columns.filter(pc.is_in(columns["chunk_id"], value_set=wanted))
    chunk_of = {chunk["chunk_id"]: chunk for chunk in columns.to_pylist()}
    for row in kept:
        chunk = chunk_of[row["chunk_id"]]
        row.update(clean=is_clean(row["question"]), chunk_text=chunk["text"], num_tokens=chunk["num_tokens"])
    return pa.Table.from_pylist(kept, schemas.PAIRS)


def acceptance_summary(candidates: pa.Table) -> pa.Table:
    """candidates -> (corpus, chunk_size, verdict, num_questions, fraction), the fraction within corpus and size."""
    cell = ["corpus", "chunk_size"]
    counts = candidates.group_by([*cell, "verdict"]).aggregate([([], "count_all")]).to_pylist()
    total: dict[tuple[str, int], int] = {}
    for row in counts:
        total[row["corpus"], row["chunk_size"]] = total.get((row["corpus"], row["chunk_size"]), 0) + row["count_all"]
    for row in counts:
        row["num_questions"] = row.pop("count_all")
        row["fraction"] = row["num_questions"] / total[row["corpus"], row["chunk_size"]]
    counts.sort(key=lambda row: (row["corpus"], row["chunk_size"], -row["num_questions"], row["verdict"]))
    fields = [("corpus", pa.string()), ("chunk_size", pa.int32()), ("verdict", pa.string())]
    return pa.Table.from_pylist(counts, pa.schema([*fields, ("num_questions", pa.int64()), ("fraction", pa.float64())]))


def excerpt(text: str, max_chars: int | None) -> str:
    """text -> its start, cut at white space where there is some in the last tenth."""
    if max_chars is None or len(text) <= max_chars:
        return text
    cut = max(text.rfind(" ", 0, max_chars), text.rfind("\n", 0, max_chars))
    return text[: cut if cut >= max_chars * 9 // 10 else max_chars]


def _engine_problem(error: str | None) -> str | None:
    """error -> the fixed word that it opens with, engine_error where it opens with none."""
    if error is None:
        return None
    word = error.partition(":")[0]
    return word if word in PROMPT_PROBLEMS else "engine_error"


def _check_count(engine: Engine, num_prompts: int, num_replies: int) -> None:
    if num_prompts != num_replies:
        # One reply too many once shifted all that followed it; nothing is joined by position after that.
        raise RuntimeError(f"{engine.name} gave {num_replies} replies to {num_prompts} prompts")
