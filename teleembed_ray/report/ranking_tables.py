"""What the rankings add to the scores: the drop from A to C, and two models, compared question by question."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray.report.cells import Column, Estimate, Missing, Table, Value
from teleembed_ray.report.intervals import PairedDifference, mean_difference, paired_difference
from teleembed_ray.report.score_tables import MACRO, NO_QUESTIONS, ScoreKey, Scores
from teleembed_ray.report.source import Source, absent

OWN_DOCUMENT, OWN_CORPUS, OTHER_CORPUS = "own document", "own corpus, other document", "other corpus"
UNANSWERED, UNKNOWN = "nothing returned", "a chunk that is not in the lake"
ORIGINS = (OWN_DOCUMENT, OWN_CORPUS, OTHER_CORPUS, UNANSWERED, UNKNOWN)


@dataclass(frozen=True)
class Cell:
    """One ranked cell: a model over the questions of one corpus and chunk size."""

    model: str
    corpus: str
    chunk_size: int


Hits = dict[Cell, dict[str, bool]]


def read_hits(source: Source, strategy: str) -> Hits:
    """Return, by cell and question, whether the gold chunk came first."""
    found: Hits = {}
    for partition, rows in source.parts("rankings", ["question_id", "gold_rank"], strategy=strategy):
        keys = partition.keys
        cell = Cell(keys["model"], keys["corpus"], int(keys["chunk_size"]))
        is_first = pc.fill_null(pc.equal(rows["gold_rank"], 1), False).to_pylist()
        found.setdefault(cell, {}).update(zip(rows["question_id"].to_pylist(), is_first, strict=True))
    return found


def paired(first: dict[str, bool], second: dict[str, bool]) -> PairedDifference | None:
    """Compare two results over the questions that both hold; None where they share none."""
    shared = first.keys() & second.keys()
    if not shared:
        return None
    only_first = sum(first[question] and not second[question] for question in shared)
    only_second = sum(second[question] and not first[question] for question in shared)
    return paired_difference(only_first, only_second, len(shared))


def macro_difference(
    source: Source, first: Hits, second: Hits, size: int, models: tuple[str, str]
) -> Estimate | Missing:
    """Mean over the corpora of the paired difference between (model, hits) one and two."""
    parts = []
    for corpus in source.corpora:
        part = paired(first.get(Cell(models[0], corpus, size), {}), second.get(Cell(models[1], corpus, size), {}))
        if part is not None:
            parts.append(part)
    return mean_difference(parts, source.confidence)


def _top_ids(rows: pa.Table) -> list[str | None]:
    """First chunk of each ranking, None where nothing was returned."""
    return [found[0] if found else None for found in pc.list_slice(rows["chunk_ids"], 0, 1).to_pylist()]


def places(source: Source, wanted: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return (corpus, doc_id) of these chunks."""
    found: dict[str, tuple[str, str]] = {}
    ids = pa.array(sorted(wanted), pa.string())
    for partition, rows in source.parts("chunks", ["chunk_id", "doc_id"]):
        hits = rows.filter(pc.is_in(rows["chunk_id"], value_set=ids))
        for chunk, document in zip(hits["chunk_id"].to_pylist(), hits["doc_id"].to_pylist(), strict=True):
            found[chunk] = (partition.keys["corpus"], document)
    return found


def read_origins(source: Source) -> dict[Cell, Counter[str]]:
    """Return, by cell, where the wrong first results over all corpora came from."""
    wrong: dict[Cell, list[tuple[str, str | None]]] = {}
    for partition, rows in source.parts("rankings", ["gold_chunk_id", "gold_rank", "chunk_ids"], strategy="C"):
        cell = Cell(partition.keys["model"], partition.keys["corpus"], int(partition.keys["chunk_size"]))
        missed = rows.filter(pc.fill_null(pc.not_equal(rows["gold_rank"], 1), True))
        wrong.setdefault(cell, []).extend(zip(missed["gold_chunk_id"].to_pylist(), _top_ids(missed), strict=True))
    wanted = {chunk for pairs in wrong.values() for pair in pairs for chunk in pair if chunk}
    place = places(source, wanted)
    return {cell: Counter(_origin(gold, top, place) for gold, top in pairs) for cell, pairs in wrong.items()}


def _origin(gold: str, top: str | None, place: dict[str, tuple[str, str]]) -> str:
    if top is None:
        return UNANSWERED
    if top not in place or gold not in place:
        return UNKNOWN
    (gold_corpus, gold_document), (corpus, document) = place[gold], place[top]
    if corpus != gold_corpus:
        return OTHER_CORPUS
    return OWN_DOCUMENT if document == gold_document else OWN_CORPUS


def _drop_row(
    source: Source, scores: Scores, size: int, model: str, corpus: str, drop: Estimate | Missing, origins: Counter[str]
) -> tuple[Value, ...]:
    own = scores.get(ScoreKey(model, corpus, size, "B" if corpus == MACRO else "A"))
    merged = scores.get(ScoreKey(model, corpus, size, "C"))
    wrong = origins.total()
    return (str(size), model, corpus, own, merged, drop, wrong, *(origins[origin] for origin in ORIGINS))


def interference_table(source: Source, scores: Scores, alone: Hits, merged: Hits) -> Table:
    """One row a size, model and corpus: accuracy alone (A) and merged (C), the paired drop, where errors came from."""
    origins = read_origins(source)
    rows: list[tuple[Value, ...]] = []
    for size in source.sizes:
        for model in scores.models:
            cells = [Cell(model, corpus, size) for corpus in source.corpora]
            if not any(cell in merged for cell in cells):
                continue
            for cell in cells:
                part = paired(merged.get(cell, {}), alone.get(cell, {}))
                drop = mean_difference([part], source.confidence) if part else Missing(NO_QUESTIONS)
                rows.append(_drop_row(source, scores, size, model, cell.corpus, drop, origins.get(cell, Counter())))
            total = sum((origins.get(cell, Counter[str]()) for cell in cells), Counter[str]())
            mean = macro_difference(source, merged, alone, size, (model, model))
            rows.append(_drop_row(source, scores, size, model, MACRO, mean, total))
    return Table(
        "interference",
        "Accuracy within the question's own corpus (A) and over all corpora at once (C), the paired change, and where "
        "the wrong first results of C came from.",
        (
            Column("chunk_size", "Chunk size"),
            Column("model", "Model"),
            Column("corpus", "Corpus"),
            Column("alone", "A, macro: B", "score", is_estimate=True),
            Column("merged", "C", "score", is_estimate=True),
            Column("change", "C minus A", "difference", is_estimate=True),
            Column("wrong", "Wrong in C", "count"),
            Column("from_own_document", "From own document", "count"),
            Column("from_own_corpus", "From own corpus, other document", "count"),
            Column("from_other_corpus", "From other corpus", "count"),
            Column("unanswered", "Nothing returned", "count"),
            Column("unknown", "Chunk not in the lake", "count"),
        ),
        tuple(rows),
        num_headings=3,
        if_empty=_why_no_c(source),
    )


def _why_no_c(source: Source) -> str:
    if not source.partitions["rankings"]:
        return f"There are {absent('rankings')}."
    return "Strategy C was not run: add it to retrieve.strategies and run with --from retrieve."
