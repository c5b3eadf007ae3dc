"""rankings and pairs -> scores with their intervals, for one model and one chunk size."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.errors import ArtifactError
from teleembed_ray.metrics.intervals import bootstrap_mean, generator, wilson
from teleembed_ray.metrics.ranking import METRICS, PROPORTIONS, Floats, rank_array

MACRO = "macro"
# The macro mean of strategy A has its own letter in TeleEmbedBench (Section IV-B); that of C has not.
MACRO_STRATEGY = {"A": "B", "C": "C"}
SUBSETS = ("main", "clean")

# Names in an error message.
NUM_SHOWN = 5


def _refuse(stage: str, what: str, names: Iterable[Any]) -> None:
    """Raise ArtifactError where `names` is not empty, and show the first few."""
    found = sorted(map(str, names))
    if found:
        shown = ", ".join(found[:NUM_SHOWN]) + (", ..." if len(found) > NUM_SHOWN else "")
        raise ArtifactError(f"{len(found)} {what}: {shown}; run the stage `{stage}` again")


def _twice(keys: Iterable[Any]) -> list[Any]:
    return [key for key, count in Counter(keys).items() if count > 1]


def _checked_ranks(
    rankings: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], int | None]:
    """Return the gold rank by (strategy, question_id), after checking that the rankings answer these pairs."""
    corpora = {pair["question_id"]: pair["corpus"] for pair in pairs}
    _refuse("pairs", "question ids stand twice in pairs", _twice(pair["question_id"] for pair in pairs))
    _refuse("pairs", "corpora of pairs bear the name of the mean", {MACRO} & set(corpora.values()))
    keys = [(row["strategy"], row["question_id"]) for row in rankings]
    _refuse("retrieve", "strategies are unknown", {strategy for strategy, _ in keys} - set(MACRO_STRATEGY))
    _refuse("retrieve", "question ids stand twice under one strategy", {question for _, question in _twice(keys)})
    _refuse("retrieve", "ranked questions are not pairs", {question for _, question in keys} - set(corpora))
    strangers = {row["question_id"] for row in rankings if row["corpus"] != corpora[row["question_id"]]}
    _refuse("retrieve", "questions are ranked under another corpus than their pair's", strangers)
    return {key: row["gold_rank"] for key, row in zip(keys, rankings, strict=True)}


def _refuse_others(rankings: pa.Table, column: str, wanted: Any) -> None:
    others = set(rankings[column].unique().to_pylist()) - {wanted}
    _refuse("retrieve", f"values of {column} in the rankings are not {wanted!r}", others)


def _score(
    strata: Sequence[Floats], interval: str, rng: np.random.Generator, confidence: float, num_resamples: int
) -> dict[str, Any]:
    """values of the questions, one stratum a corpus -> the unweighted mean over strata with n and its interval."""
    filled = [values_N for values_N in strata if len(values_N)]
    n = sum(map(len, filled))
    if interval == "wilson":
        low, high = wilson(round(sum(float(values_N.sum()) for values_N in filled)), n, confidence)
    else:
        low, high = bootstrap_mean(filled, rng, confidence, num_resamples)
    value = float(np.mean([values_N.mean() for values_N in filled])) if filled else None
    return {"value": value, "n": n, "low": low, "high": high, "interval": interval}


def _questions_by_corpus(
    pairs: Sequence[Mapping[str, Any]], corpora: Sequence[str], subset: str
) -> dict[str, list[str]]:
    """Return the questions of a subset by corpus; a corpus without any keeps an empty list."""
    questions: dict[str, list[str]] = {corpus: [] for corpus in corpora}
    for pair in pairs:
        if subset == "main" or pair["clean"]:
            questions[pair["corpus"]].append(pair["question_id"])
    return questions


def scores_table(
    rankings: pa.Table,
    pairs: pa.Table,
    *,
    model: str,
    chunk_size: int,
    corpora: Sequence[str],
    strategies: Sequence[str],
    seed: int,
    confidence: float,
    num_resamples: int,
) -> pa.Table:
    """rankings, pairs -> scores: corpus x strategy x subset x metric, and the macro means (TeleEmbedBench, Section IV).

    `rankings` hold the strategies that were run, of all `corpora`, for one model and chunk size; `pairs` need
    question_id, corpus and clean. n counts the pairs. A pair without a ranking row scores 0 and is counted in
    num_missing. A corpus without pairs in a subset has value null and n 0 there, and the macro mean is over the others.
    Macro rows are unweighted means over corpora: strategy B those of A, strategy C those of C.

    Intervals: Wilson's for proportions; the percentile bootstrap for MRR and nDCG and, stratified by corpus, for macro
    rows. They depend on the seed and the cell, not on the order of the rows. Raises ArtifactError for rankings of
    another model or size, pairs of another corpus, question ids that stand twice, ranking rows that no pair explains.
    """
    _refuse_others(rankings, "model", model)
    _refuse_others(rankings, "chunk_size", chunk_size)
    pair_rows = pairs.select(["question_id", "corpus", "clean"]).to_pylist()
    ranking_rows = rankings.select(["strategy", "question_id", "corpus", "gold_rank"]).to_pylist()
    if pair_rows and not ranking_rows:
        raise ArtifactError(f"no ranking for any of {len(pair_rows)} questions; run the stage `retrieve` again")
    gold_ranks = _checked_ranks(ranking_rows, pair_rows)
    _refuse("pairs", "corpora of pairs are not in the run", {pair["corpus"] for pair in pair_rows} - set(corpora))
    scores = []
    for strategy, subset in product(strategies, SUBSETS):
        macro_strategy = MACRO_STRATEGY[strategy]
        asked = {
            corpus: [(strategy, question_id) for question_id in questions]
            for corpus, questions in _questions_by_corpus(pair_rows, corpora, subset).items()
        }
        # Sorted, so that the rounding of a mean does not depend on the order of the rows.
        ranks = {corpus: np.sort(rank_array(map(gold_ranks.get, keys))) for corpus, keys in asked.items()}
        missing = {corpus: sum(key not in gold_ranks for key in keys) for corpus, keys in asked.items()}
        for metric, values_of in METRICS.items():
            values = {corpus: values_of(ranks_N) for corpus, ranks_N in ranks.items()}
            cells = [(corpus, strategy, [values[corpus]], missing[corpus]) for corpus in asked]
            cells.append((MACRO, macro_strategy, list(values.values()), sum(missing.values())))
            for corpus, letter, strata, num_missing in cells:
                interval = "wilson" if metric in PROPORTIONS and corpus != MACRO else "bootstrap"
                rng = generator(seed, model, corpus, chunk_size, letter, subset, metric)
                score = _score(strata, interval, rng, confidence, num_resamples)
                keys = {"model": model, "corpus": corpus, "chunk_size": chunk_size, "strategy": letter}
                scores.append(keys | {"subset": subset, "metric": metric} | score | {"num_missing": num_missing})
    return pa.Table.from_pylist(scores, schema=schemas.SCORES)
