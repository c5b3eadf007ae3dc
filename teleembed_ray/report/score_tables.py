"""How the models scored: accuracy and MRR, the Clean subset, and how much of the texts each model read."""

from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from teleembed_ray.report.cells import Column, Estimate, Missing, Table, Value, known, share
from teleembed_ray.report.intervals import share_estimate
from teleembed_ray.report.source import Source, absent

MACRO = "macro"
COLUMNS = [
    "model",
    "corpus",
    "chunk_size",
    "strategy",
    "subset",
    "metric",
    "value",
    "n",
    "low",
    "high",
    "interval",
    "num_missing",
]
NO_QUESTIONS = "no questions in this cell"


@dataclass(frozen=True)
class ScoreKey:
    """Which score is meant."""

    model: str
    corpus: str
    chunk_size: int
    strategy: str
    subset: str = "main"
    metric: str = "accuracy"


@dataclass(frozen=True)
class Scores:
    """All rows of the scores table by key, the models in order of their mean macro accuracy, best first."""

    rows: dict[ScoreKey, dict[str, Any]]
    models: tuple[str, ...]
    evaluated: frozenset[tuple[str, int]]

    def get(self, key: ScoreKey) -> Estimate | Missing:
        """Return a score with its interval, or why there is none."""
        row = self.rows.get(key)
        if row is None:
            is_run = (key.model, key.chunk_size) in self.evaluated
            return Missing("not among the scores" if is_run else absent("scores"))
        return _estimate(row)


def _estimate(row: dict[str, Any]) -> Estimate | Missing:
    value = known(row["value"], NO_QUESTIONS)
    if isinstance(value, Missing) or not row["n"]:
        return Missing(NO_QUESTIONS)
    low, high = known(row["low"], ""), known(row["high"], "")
    return Estimate(
        value, None if isinstance(low, Missing) else low, None if isinstance(high, Missing) else high, row["n"]
    )


def read_scores(source: Source) -> Scores:
    """Return all scores of the lake; empty where none was evaluated."""
    rows: dict[ScoreKey, dict[str, Any]] = {}
    for _, part in source.parts("scores", COLUMNS):
        for row in part.to_pylist():
            key = ScoreKey(*(row[name] for name in COLUMNS[:6]))
            rows[key] = row
    evaluated = frozenset((key.model, key.chunk_size) for key in rows)
    means: dict[str, float] = {}
    for model in source.models:
        found = [rows.get(ScoreKey(model, MACRO, size, "B")) for size in source.sizes]
        estimates = [_estimate(row) for row in found if row is not None]
        values = [estimate.value for estimate in estimates if isinstance(estimate, Estimate)]
        means[model] = sum(values) / len(values) if values else -1.0
    return Scores(rows, tuple(sorted(source.models, key=lambda model: (-means[model], model))), evaluated)


def views(source: Source, scores: Scores) -> list[tuple[str, str]]:
    """Return each (corpus, strategy) that is scored, corpora before their mean, A before C where C was run."""
    first = [*((corpus, "A") for corpus in source.corpora), (MACRO, "B")]
    if all(key.strategy != "C" for key in scores.rows):
        return first
    return [*first, *((corpus, "C") for corpus in source.corpora), (MACRO, "C")]


def view_label(corpus: str, strategy: str) -> str:
    """Return the heading of a scored view, for example `A: O-RAN` or `B: macro`."""
    return f"{strategy}: {corpus}"


def metric_table(source: Source, scores: Scores, metric: str, name: str, caption: str) -> Table:
    """One row a chunk size and model, one column a scored view, of the main set."""
    found = views(source, scores)
    rows: list[tuple[Value, ...]] = []
    for size in source.sizes:
        for model in scores.models:
            keys = [ScoreKey(model, corpus, size, strategy, metric=metric) for corpus, strategy in found]
            rows.append((str(size), model, *map(scores.get, keys)))
    columns = (
        Column("chunk_size", "Chunk size"),
        Column("model", "Model"),
        *(
            Column(f"{strategy}_{corpus}", view_label(corpus, strategy), "score", is_estimate=True)
            for corpus, strategy in found
        ),
    )
    shown = tuple(rows) if scores.rows else ()
    return Table(name, caption, columns, shown, num_headings=2, if_empty=f"There are {absent('scores')}.")


def mrr_metric(scores: Scores) -> str:
    """Return the name under which mean reciprocal rank stands in the scores (`mrr` or with its depth)."""
    return min((key.metric for key in scores.rows if key.metric.startswith("mrr")), default="mrr")


def all_scores_table(source: Source, scores: Scores) -> Table:
    """Every row of the scores table: all metrics, subsets and strategies."""
    order = {model: index for index, model in enumerate(scores.models)}
    keys = sorted(
        scores.rows,
        key=lambda key: (
            key.metric,
            key.subset != "main",
            key.chunk_size,
            order.get(key.model, len(order)),
            key.strategy,
            key.corpus,
        ),
    )
    rows = tuple(
        (
            key.metric,
            key.subset,
            str(key.chunk_size),
            key.model,
            key.strategy,
            key.corpus,
            scores.get(key),
            scores.rows[key]["num_missing"] or 0,
            scores.rows[key]["interval"] or Missing("not named"),
        )
        for key in keys
    )
    return Table(
        "scores",
        "Every score of the lake. A query without an answer counts as 0 and stands in the column Unanswered.",
        (
            Column("metric", "Metric"),
            Column("subset", "Subset"),
            Column("chunk_size", "Chunk size"),
            Column("model", "Model"),
            Column("strategy", "Strategy"),
            Column("corpus", "Corpus"),
            Column("value", "Score", "score", is_estimate=True),
            Column("num_missing", "Unanswered", "count"),
            Column("interval", "Interval"),
        ),
        rows,
        num_headings=6,
        if_empty=f"There are {absent('scores')}.",
    )


def clean_counts_table(source: Source) -> Table:
    """One row a corpus and size: how many questions are Clean."""
    rows: list[tuple[Value, ...]] = []
    for corpus in source.corpora:
        for size in source.sizes:
            if not source.find("pairs", corpus=corpus, chunk_size=size):
                continue
            parts = source.parts("pairs", ["clean"], corpus=corpus, chunk_size=size)
            num_clean = sum(int(pc.sum(part["clean"]).as_py() or 0) for _, part in parts)
            n = source.num_rows("pairs", corpus=corpus, chunk_size=size)
            unclean = n - num_clean
            rows.append((corpus, str(size), n, num_clean, unclean, share(unclean, n, NO_QUESTIONS)))
    return Table(
        "clean-questions",
        "Questions that do not end in a question mark or a full stop are left out of the Clean subset.",
        (
            Column("corpus", "Corpus"),
            Column("chunk_size", "Chunk size"),
            Column("questions", "Questions", "count"),
            Column("clean", "Clean", "count"),
            Column("not_clean", "Not clean", "count"),
            Column("not_clean_share", "Share not clean", "share"),
        ),
        tuple(rows),
        num_headings=2,
        if_empty=f"There are {absent('pairs')}.",
    )


def _rest(main: Estimate | Missing, clean: Estimate | Missing, corpus: str, confidence: float) -> Estimate | Missing:
    """Accuracy over the questions that are not Clean, from the two published shares."""
    if corpus == MACRO:
        return Missing("stands by corpus")
    if isinstance(main, Missing):
        return main
    hits, n = round(main.value * main.n), main.n
    if isinstance(clean, Estimate):
        hits, n = hits - round(clean.value * clean.n), n - clean.n
    return share_estimate(hits, n, confidence) if n > 0 else Missing("every question is clean")


def clean_table(source: Source, scores: Scores) -> Table:
    """One row a size, model and corpus (strategy A, macro B): accuracy on main, Clean and the rest."""
    rows: list[tuple[Value, ...]] = []
    for size in source.sizes:
        for model in scores.models:
            for corpus, strategy in [*((corpus, "A") for corpus in source.corpora), (MACRO, "B")]:
                main = scores.get(ScoreKey(model, corpus, size, strategy))
                clean = scores.get(ScoreKey(model, corpus, size, strategy, subset="clean"))
                gain: Value = Missing("needs both")
                if isinstance(main, Estimate) and isinstance(clean, Estimate):
                    gain = clean.value - main.value
                rest = _rest(main, clean, corpus, source.confidence)
                rows.append((str(size), model, view_label(corpus, strategy), main, clean, rest, gain))
    return Table(
        "clean",
        "Accuracy on all questions (main), on the Clean ones, and on the rest. Main contains Clean, so compare the "
        "intervals of Clean and of the rest.",
        (
            Column("chunk_size", "Chunk size"),
            Column("model", "Model"),
            Column("view", "Strategy and corpus"),
            Column("main", "Main", "score", is_estimate=True),
            Column("clean", "Clean", "score", is_estimate=True),
            Column("rest", "Not clean", "score", is_estimate=True),
            Column("gain", "Clean minus main", "difference"),
        ),
        tuple(rows) if scores.rows else (),
        num_headings=3,
        if_empty=f"There are {absent('scores')}.",
    )


def _truncated(source: Source, model: str, kind: str, size: int) -> tuple[Value, Value, Value]:
    """Return texts, truncated texts and their share of one model, kind and size."""
    keys: dict[str, str | int] = {"model": model, "kind": kind, "chunk_size": size}
    if not source.find("vectors", **keys):
        gap = Missing(absent("vectors"))
        return gap, gap, gap
    n = source.num_rows("vectors", **keys)
    parts = source.parts("vectors", ["truncated"], **keys)
    num = sum(int(pc.sum(part["truncated"]).as_py() or 0) for _, part in parts)
    return n, num, share(num, n, "no texts")


def truncation_table(source: Source, scores: Scores) -> Table:
    """One row a size and model: share of chunks and questions cut at the model's limit, beside the macro score."""
    rows: list[tuple[Value, ...]] = []
    for size in source.sizes:
        for model in scores.models:
            num_chunks, num_cut, chunk_share = _truncated(source, model, "chunk", size)
            _, _, question_share = _truncated(source, model, "question", size)
            score = scores.get(ScoreKey(model, MACRO, size, "B"))
            rows.append((str(size), model, num_chunks, num_cut, chunk_share, question_share, score))
    return Table(
        "truncation",
        "Texts that were cut because they exceed the model's limit: what lies beyond it cannot be found.",
        (
            Column("chunk_size", "Chunk size"),
            Column("model", "Model"),
            Column("chunks", "Chunks", "count"),
            Column("chunks_truncated", "Chunks cut", "count"),
            Column("chunks_truncated_share", "Share of chunks cut", "share"),
            Column("questions_truncated_share", "Share of questions cut", "share"),
            Column("accuracy", "B: macro accuracy", "score", is_estimate=True),
        ),
        tuple(rows),
        num_headings=2,
        if_empty=f"There are {absent('vectors')}.",
    )
