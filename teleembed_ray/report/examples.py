"""A few queries that each model got wrong: what was asked, what should have come first and what came instead."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray.report.cells import Column, Missing, Table, Value
from teleembed_ray.report.ranking_tables import Cell
from teleembed_ray.report.source import Source
from teleembed_ray.report.texts import excerpt, portable

EXCERPT_CHARS = 360
NUM_SHOWN = 3
UNKNOWN = "not in the lake"


@dataclass(frozen=True)
class Passage:
    """A chunk as a reader sees it: its document's path and title, and the beginning of its text."""

    chunk_id: str
    path: str
    title: str
    text: str


@dataclass(frozen=True)
class Returned:
    """One result: its rank, its score and the passage."""

    rank: int
    score: float
    passage: Passage


@dataclass(frozen=True)
class Example:
    """A query whose own chunk did not come first, with the first results that did."""

    cell: Cell
    question_id: str
    question: str
    gold: Passage
    gold_rank: int | None
    gold_score: float | None
    depth: int
    returned: tuple[Returned, ...]

    @property
    def rank_text(self) -> str:
        """Where the right chunk stood."""
        if not self.depth:
            return "no result was returned"
        if self.gold_rank is None:
            return f"not among the first {self.depth}"
        return f"rank {self.gold_rank}"


def spread(sizes: Sequence[int], corpora: Sequence[str]) -> list[tuple[int, str]]:
    """Order (size, corpus) along diagonals, so that the first few cells differ in both."""
    return [
        (size, corpora[(index + shift) % len(corpora)])
        for shift in range(len(corpora))
        for index, size in enumerate(sizes)
    ]


def _wrong_rows(source: Source, cell: Cell, limit: int) -> list[dict[str, Any]]:
    """First wrong rankings of a cell by question id, under strategy A."""
    keys: dict[str, str | int] = {**vars(cell), "strategy": "A"}
    columns = ["question_id", "gold_chunk_id", "gold_rank", "chunk_ids", "scores"]
    rows: list[dict[str, Any]] = []
    for _, part in source.parts("rankings", columns, **keys):
        missed = part.filter(pc.fill_null(pc.not_equal(part["gold_rank"], 1), True)).sort_by("question_id")
        rows = sorted([*rows, *missed.slice(0, limit).to_pylist()], key=lambda row: row["question_id"])[:limit]
    return rows


def choose(source: Source, model: str, num_examples: int) -> list[tuple[Cell, dict[str, Any]]]:
    """Return wrong rankings of one model, taken in turn from its cells; the choice depends on the ids only."""
    cells = [Cell(model, corpus, size) for size, corpus in spread(source.sizes, source.corpora)]
    queues = {cell: _wrong_rows(source, cell, num_examples) for cell in cells} if num_examples else {}
    rounds: Iterator[tuple[Cell, dict[str, Any]]] = (
        (cell, queue[turn]) for turn in range(num_examples) for cell, queue in queues.items() if turn < len(queue)
    )
    return [chosen for chosen, _ in zip(rounds, range(num_examples), strict=False)]


def _look_up(
    source: Source, table: str, key: str, columns: list[str], wanted: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Return the rows with these ids; a part is read in full only where it holds one of them."""
    ids = pa.array(sorted(wanted), pa.string())
    found: dict[str, dict[str, Any]] = {}
    for partition in source.partitions[table]:
        for file in partition.files:
            if not file.num_rows or len(found) == len(ids):
                continue
            is_wanted = pc.is_in(source.lake.read_part(partition, file.name, [key])[key], value_set=ids)
            if pc.any(is_wanted).as_py():
                rows = source.lake.read_part(partition, file.name, [key, *columns]).filter(is_wanted)
                found.update((row[key], row) for row in rows.to_pylist())
    return found


def _passages(source: Source, wanted: Collection[str]) -> dict[str, Passage]:
    """Return the passages of these chunks; what the lake does not hold says so."""
    chunks = _look_up(source, "chunks", "chunk_id", ["doc_id", "text"], wanted)
    documents = _look_up(source, "documents", "doc_id", ["path", "title"], {row["doc_id"] for row in chunks.values()})
    passages = {}
    for chunk_id in wanted:
        chunk = chunks.get(chunk_id)
        document = documents.get(chunk["doc_id"]) if chunk else None
        passages[chunk_id] = Passage(
            chunk_id,
            portable((document and document["path"]) or UNKNOWN),
            (document and document["title"]) or "",
            excerpt((chunk and chunk["text"]) or UNKNOWN, EXCERPT_CHARS),
        )
    return passages


def _example(
    cell: Cell, row: dict[str, Any], questions: dict[str, dict[str, Any]], passages: dict[str, Passage]
) -> Example:
    chunk_ids, scores = row["chunk_ids"] or [], row["scores"] or []
    gold = row["gold_chunk_id"]
    question = questions.get(row["question_id"])
    return Example(
        cell,
        row["question_id"],
        excerpt(question["question"], 600) if question else UNKNOWN,
        passages[gold],
        row["gold_rank"],
        dict(zip(chunk_ids, scores, strict=True)).get(gold),
        len(chunk_ids),
        tuple(
            Returned(rank, score, passages[chunk_id])
            for rank, (chunk_id, score) in enumerate(zip(chunk_ids[:NUM_SHOWN], scores, strict=False), start=1)
        ),
    )


def read_examples(source: Source, models: Sequence[str], num_examples: int) -> list[Example]:
    """Return up to `num_examples` wrong queries a model, spread over corpora and chunk sizes."""
    chosen = [pick for model in models for pick in choose(source, model, num_examples)]
    wanted = {row["gold_chunk_id"] for _, row in chosen}
    wanted.update(chunk_id for _, row in chosen for chunk_id in (row["chunk_ids"] or [])[:NUM_SHOWN])
    passages = _passages(source, wanted)
    questions = _look_up(source, "pairs", "question_id", ["question"], {row["question_id"] for _, row in chosen})
    return [_example(cell, row, questions, passages) for cell, row in chosen]


def examples_table(examples: Sequence[Example]) -> Table:
    """One row an example, with the first result that came instead."""
    rows: list[tuple[Value, ...]] = []
    for example in examples:
        first = example.returned[0] if example.returned else None
        nothing = Missing("nothing was returned")
        rows.append(
            (
                example.cell.model,
                str(example.cell.chunk_size),
                example.cell.corpus,
                example.question,
                example.gold.path,
                example.gold.text,
                example.rank_text,
                Missing("below the ranks kept") if example.gold_score is None else example.gold_score,
                first.passage.path if first else nothing,
                first.passage.text if first else nothing,
                first.score if first else nothing,
            )
        )
    return Table(
        "wrong-queries",
        "Queries whose own chunk did not come first within their corpus (strategy A).",
        (
            Column("model", "Model"),
            Column("chunk_size", "Chunk size"),
            Column("corpus", "Corpus"),
            Column("question", "Question"),
            Column("right_document", "Right document"),
            Column("right_text", "Right chunk"),
            Column("right_rank", "Rank of the right chunk"),
            Column("right_score", "Its score", "score"),
            Column("returned_document", "First result's document"),
            Column("returned_text", "First result"),
            Column("returned_score", "Its score", "score"),
        ),
        tuple(rows),
        num_headings=3,
        if_empty="No wrong query was found.",
    )
