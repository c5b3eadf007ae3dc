"""scores of small rankings, worked by hand."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats  # type: ignore[import-untyped]

from teleembed_ray import schemas
from teleembed_ray.errors import ArtifactError
from teleembed_ray.metrics.kernel import scores_table
from teleembed_ray.metrics.ranking import METRICS

PAIRS = pa.schema([("question_id", pa.string()), ("corpus", pa.string()), ("clean", pa.bool_())])

# Question, corpus, clean, gold rank under A and under C: null where the gold chunk was not found, "missing" where there
# is no row.
QUESTIONS: list[tuple[str, str, bool, Any, Any]] = [
    ("o1", "oran", True, 1, 1),
    ("o2", "oran", True, 2, 3),
    ("o3", "oran", False, 1, 6),
    ("o4", "oran", True, None, "missing"),
    ("s1", "srsran", False, 3, 7),
    ("s2", "srsran", False, "missing", "missing"),
]


def pairs(questions: list[tuple[str, str, bool, Any, Any]] = QUESTIONS) -> pa.Table:
    rows = [{"question_id": question, "corpus": corpus, "clean": clean} for question, corpus, clean, _, _ in questions]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def ranking(question: str, corpus: str, strategy: str, rank: int | None) -> dict[str, Any]:
    names = {"model": "minilm", "corpus": corpus, "chunk_size": 512, "strategy": strategy, "question_id": question}
    return names | {"gold_chunk_id": "gold", "gold_rank": rank, "chunk_ids": [], "scores": []}


def rankings(*extra: dict[str, Any]) -> pa.Table:
    rows = [
        ranking(question, corpus, strategy, rank)
        for question, corpus, _, rank_a, rank_c in QUESTIONS
        for strategy, rank in (("A", rank_a), ("C", rank_c))
        if rank != "missing"
    ]
    return pa.Table.from_pylist([*rows, *extra], schema=schemas.RANKINGS)


def scores(rankings_table: pa.Table, pairs_table: pa.Table) -> pa.Table:
    return scores_with(7, rankings_table, pairs_table)


def scores_with(
    seed: int, rankings_table: pa.Table, pairs_table: pa.Table, strategies: tuple[str, ...] = ("A", "C")
) -> pa.Table:
    return scores_table(
        rankings_table,
        pairs_table,
        model="minilm",
        chunk_size=512,
        corpora=["oran", "srsran"],
        strategies=strategies,
        seed=seed,
        confidence=0.95,
        num_resamples=400,
    )


def cells(table: pa.Table) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    rows = table.to_pylist()
    found = {(row["corpus"], row["strategy"], row["subset"], row["metric"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def test_every_cell_has_one_row() -> None:
    table = scores(rankings(), pairs())
    assert table.schema == schemas.SCORES
    letters = [("oran", "A"), ("oran", "C"), ("srsran", "A"), ("srsran", "C"), ("macro", "B"), ("macro", "C")]
    assert set(cells(table)) == {
        (*letter, subset, metric) for letter in letters for subset in ("main", "clean") for metric in METRICS
    }
    assert set(table["model"].to_pylist()) == {"minilm"}
    assert set(table["chunk_size"].to_pylist()) == {512}


@pytest.mark.parametrize(
    ("corpus", "strategy", "subset", "metric", "value", "n", "num_missing"),
    [
        # oran, A: ranks 1, 2, 1, null.
        ("oran", "A", "main", "accuracy", 2 / 4, 4, 0),
        ("oran", "A", "main", "mrr", (1 + 1 / 2 + 1) / 4, 4, 0),
        ("oran", "A", "clean", "accuracy", 1 / 3, 3, 0),
        # oran, C: ranks 1, 3, 6, missing.
        ("oran", "C", "main", "mrr", (1 + 1 / 3) / 4, 4, 1),
        ("oran", "C", "main", "recall@5", 2 / 4, 4, 1),
        ("oran", "C", "main", "recall@10", 3 / 4, 4, 1),
        ("oran", "C", "clean", "recall@10", 2 / 3, 3, 1),
        # srsran, A: ranks 3, missing; C: 7, missing. 1 / log2(4) = 1/2, 1 / log2(8) = 1/3.
        ("srsran", "A", "main", "ndcg@10", (1 / 2) / 2, 2, 1),
        ("srsran", "C", "main", "ndcg@10", (1 / 3) / 2, 2, 1),
        # Both corpora weigh the same, though one has twice the questions.
        ("macro", "B", "main", "accuracy", (2 / 4 + 0) / 2, 6, 1),
        ("macro", "B", "main", "recall@5", (3 / 4 + 1 / 2) / 2, 6, 1),
        ("macro", "C", "main", "recall@10", (3 / 4 + 1 / 2) / 2, 6, 2),
        # No clean question of srsran: the mean is that of oran.
        ("macro", "B", "clean", "accuracy", 1 / 3, 3, 0),
        ("macro", "C", "clean", "recall@10", 2 / 3, 3, 1),
    ],
)
def test_values_by_hand(
    corpus: str, strategy: str, subset: str, metric: str, value: float, n: int, num_missing: int
) -> None:
    row = cells(scores(rankings(), pairs()))[corpus, strategy, subset, metric]
    assert (row["value"], row["n"], row["num_missing"]) == (pytest.approx(value, abs=1e-12), n, num_missing)
    assert row["low"] <= row["value"] <= row["high"]


def test_a_subset_without_pairs_is_null_and_never_nan() -> None:
    table = scores(rankings(), pairs())
    row = cells(table)["srsran", "A", "clean", "mrr"]
    assert (row["value"], row["low"], row["high"], row["n"], row["num_missing"]) == (None, None, None, 0, 0)
    only_srsran = [question for question in QUESTIONS if question[1] == "srsran"]
    alone = cells(scores(rankings().filter(pc.field("corpus") == "srsran"), pairs(only_srsran)))
    assert alone["macro", "B", "clean", "accuracy"]["value"] is None
    for name in ("value", "low", "high"):
        assert not any(np.isnan(number) for number in table[name].to_pylist() if number is not None)


def test_proportions_have_wilson_intervals_and_all_else_the_bootstrap() -> None:
    found = cells(scores(rankings(), pairs()))
    row = found["oran", "A", "main", "accuracy"]
    expected = stats.binomtest(2, 4).proportion_ci(0.95, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    wilson = {(key[0] == "macro", key[3]) for key, row in found.items() if row["interval"] == "wilson"}
    assert wilson == {(False, "accuracy"), (False, "recall@5"), (False, "recall@10")}
    assert {row["interval"] for row in found.values()} == {"wilson", "bootstrap"}


def test_the_order_of_the_rows_changes_no_bit() -> None:
    # Thirds and fifths, whose sums round differently in another order.
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 12, 300).tolist()
    rows = [ranking(f"q{i}", "oran" if i % 2 else "srsran", s, rank) for s in "AC" for i, rank in enumerate(ranks)]
    pair_rows = [
        {"question_id": f"q{i}", "corpus": "oran" if i % 2 else "srsran", "clean": i % 3 > 0} for i in range(300)
    ]
    first = scores(pa.Table.from_pylist(rows, schema=schemas.RANKINGS), pa.Table.from_pylist(pair_rows, schema=PAIRS))
    rng.shuffle(rows)
    rng.shuffle(pair_rows)
    second = scores(pa.Table.from_pylist(rows, schema=schemas.RANKINGS), pa.Table.from_pylist(pair_rows, schema=PAIRS))
    assert first.equals(second)


def test_a_strategy_that_was_not_asked_for_has_no_rows() -> None:
    only_a = rankings().filter(pc.field("strategy") == "A")
    found = cells(scores_with(7, only_a, pairs(), strategies=("A",)))
    assert {key[1] for key in found} == {"A", "B"}


def test_no_pair_at_all_is_null_everywhere() -> None:
    table = scores(schemas.RANKINGS.empty_table(), PAIRS.empty_table())
    assert table.num_rows == 2 * 2 * len(METRICS) * 3  # strategies, subsets, metrics, two corpora and their mean
    assert set(table["value"].to_pylist()) == {None}
    assert set(table["n"].to_pylist()) == {0}


def test_rankings_that_are_lost_are_all_missing() -> None:
    only_a = rankings().filter(pc.field("strategy") == "A")
    row = cells(scores(only_a, pairs()))["oran", "C", "main", "accuracy"]
    assert (row["value"], row["n"], row["num_missing"]) == (0.0, 4, 4)


def test_another_seed_moves_the_bootstrap_only() -> None:
    one = scores(rankings(), pairs())
    two = scores_with(8, rankings(), pairs())
    names = ["value", "n", "num_missing"]
    assert one.select(names).equals(two.select(names))
    assert not one.equals(two)
    assert one.filter(pc.field("interval") == "wilson").equals(two.filter(pc.field("interval") == "wilson"))


@pytest.mark.parametrize(
    ("rows", "questions", "message"),
    [
        ([ranking("ghost", "oran", "A", 1)], QUESTIONS, "1 ranked questions are not pairs: ghost"),
        ([ranking("o1", "oran", "A", 1)], QUESTIONS, "stand twice under one strategy: o1"),
        ([ranking("s2", "oran", "A", 1)], QUESTIONS, "under another corpus than their pair's: s2"),
        ([ranking("s2", "srsran", "D", 1)], QUESTIONS, "strategies are unknown: D"),
        ([], [*QUESTIONS, QUESTIONS[0]], "1 question ids stand twice in pairs: o1"),
        ([ranking("m", "macro", "A", 1)], [*QUESTIONS, ("m", "macro", True, 1, 1)], "the name of the mean: macro"),
        ([ranking("s2", "srsran", "A", 1) | {"model": "bge"}], QUESTIONS, "values of model in the rankings are not"),
        (
            [ranking("s2", "srsran", "A", 1) | {"chunk_size": 1024}],
            QUESTIONS,
            "values of chunk_size in the rankings are not",
        ),
    ],
)
def test_tables_that_do_not_belong_together_are_refused_by_name(
    rows: list[dict[str, Any]], questions: list[tuple[str, str, bool, Any, Any]], message: str
) -> None:
    with pytest.raises(ArtifactError, match=message):
        scores(rankings(*rows), pairs(questions))


def test_a_run_in_which_every_question_failed_is_no_result() -> None:
    with pytest.raises(ArtifactError, match="no ranking for any of 6 questions"):
        scores(rankings().slice(0, 0), pairs())
