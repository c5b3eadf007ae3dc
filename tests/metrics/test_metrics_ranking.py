"""Metrics of gold ranks, worked by hand."""

import math

import numpy as np
import pytest

from teleembed_ray.metrics.ranking import METRICS, PROPORTIONS, rank_array

# 1 / log2(1 + rank), by hand: rank 1 -> 1, rank 3 -> 1/2, rank 7 -> 1/3.
CASES = [
    # rank, accuracy, mrr, recall@5, recall@10, ndcg@10
    (1, 1.0, 1.0, 1.0, 1.0, 1.0),
    (2, 0.0, 0.5, 1.0, 1.0, 1.0 / math.log2(3.0)),
    (3, 0.0, 1.0 / 3.0, 1.0, 1.0, 0.5),
    (5, 0.0, 0.2, 1.0, 1.0, 1.0 / math.log2(6.0)),
    (6, 0.0, 0.0, 0.0, 1.0, 1.0 / math.log2(7.0)),
    (7, 0.0, 0.0, 0.0, 1.0, 1.0 / 3.0),
    (10, 0.0, 0.0, 0.0, 1.0, 1.0 / math.log2(11.0)),
    (11, 0.0, 0.0, 0.0, 0.0, 0.0),
    (None, 0.0, 0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("rank", "accuracy", "mrr", "recall_5", "recall_10", "ndcg"), CASES)
def test_each_rank_has_its_value_and_none_has_zero(
    rank: int | None, accuracy: float, mrr: float, recall_5: float, recall_10: float, ndcg: float
) -> None:
    ranks_N = rank_array([rank])
    values = {name: values_of(ranks_N).tolist() for name, values_of in METRICS.items()}
    assert values == {
        "accuracy": [accuracy],
        "mrr": [pytest.approx(mrr, abs=1e-15)],
        "recall@5": [recall_5],
        "recall@10": [recall_10],
        "ndcg@10": [pytest.approx(ndcg, abs=1e-15)],
    }


def test_a_question_without_a_rank_stays_in_the_mean() -> None:
    assert METRICS["accuracy"](rank_array([1, None, None, None])).mean() == 0.25


@pytest.mark.parametrize("rank", [0, -1])
def test_ranks_counted_from_zero_are_refused(rank: int) -> None:
    with pytest.raises(ValueError, match=f"count from 1; one is {rank}"):
        rank_array([3, rank])


def test_no_ranks_give_no_values_and_no_warning() -> None:
    assert all(values_of(rank_array([])).shape == (0,) for values_of in METRICS.values())


def test_proportions_are_the_metrics_of_zeros_and_ones() -> None:
    ranks_N = rank_array([*range(1, 20), None])
    binary = {name for name, values_of in METRICS.items() if set(np.unique(values_of(ranks_N))) == {0.0, 1.0}}
    assert binary == PROPORTIONS
