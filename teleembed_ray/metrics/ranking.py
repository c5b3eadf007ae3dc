"""Ranking metrics of questions that have one gold chunk each, computed from the gold ranks alone.

Ranks are 1-based; a question whose gold chunk was not found, or that was never answered, has the rank infinity and
scores 0. Every question asked counts: no metric leaves one out of its mean.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def rank_array(gold_ranks: Iterable[int | None]) -> Floats:
    """gold ranks (None where there is none) -> float64 with infinity for None; raises ValueError for a rank below 1."""
    ranks_N = np.array([np.inf if rank is None else rank for rank in gold_ranks], dtype=np.float64)
    if not (ranks_N >= 1).all():
        raise ValueError(f"ranks count from 1; one is {ranks_N[~(ranks_N >= 1)][0]:g}")
    return ranks_N


def accuracy(ranks_N: Floats) -> Floats:
    """1 where the gold chunk is first, else 0 (TeleEmbedBench, Section IV-A)."""
    return np.where(ranks_N == 1, 1.0, 0.0)


def reciprocal_rank(ranks_N: Floats, depth: int = 5) -> Floats:
    """1 / rank down to `depth`, 0 beyond; the mean is MRR@depth (TeleEmbedBench, Section IV-A: depth 5)."""
    return np.where(ranks_N <= depth, 1.0 / ranks_N, 0.0)


def recall(ranks_N: Floats, depth: int) -> Floats:
    """1 where the gold chunk is among the first `depth`, else 0."""
    return np.where(ranks_N <= depth, 1.0, 0.0)


def discounted_gain(ranks_N: Floats, depth: int = 10) -> Floats:
    """1 / log2(1 + rank) down to `depth`, 0 beyond; with one gold chunk the ideal gain is 1, so that this is nDCG."""
    return np.where(ranks_N <= depth, 1.0 / np.log2(1.0 + ranks_N), 0.0)


# ranks -> the value of each question; a metric is the mean over the questions.
METRICS: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": accuracy,
    "mrr": reciprocal_rank,
    "recall@5": partial(recall, depth=5),
    "recall@10": partial(recall, depth=10),
    "ndcg@10": discounted_gain,
}

# Metrics whose questions each succeed or fail.
PROPORTIONS = frozenset({"accuracy", "recall@5", "recall@10"})
