"""Confidence intervals that the page adds to those of the scores: shares, and two results on the same questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from teleembed_ray.metrics.intervals import wilson
from teleembed_ray.report.cells import Estimate, Missing


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def share_estimate(num_hits: int, n: int, confidence: float) -> Estimate | Missing:
    """Share num_hits / n with Wilson's score interval; Missing where n is 0."""
    if n == 0:
        return Missing("nothing to count")
    low, high = wilson(num_hits, n, confidence)
    return Estimate(num_hits / n, low, high, n)


@dataclass(frozen=True)
class PairedDifference:
    """Share right in a first result minus share right in a second, over the same n questions."""

    value: float
    centre: float
    variance: float
    n: int


def paired_difference(num_first_only: int, num_second_only: int, n: int) -> PairedDifference:
    """Difference of two paired shares, from the questions that only one of the two got right; n must not be 0.

    Centre and variance follow Agresti and Min (2005): half a question is added to each of the four cells, which keeps
    the interval honest for few questions and few disagreements.
    """
    first, second, total = num_first_only + 0.5, num_second_only + 0.5, n + 2
    difference = first - second
    variance = (first + second - difference * difference / total) / (total * total)
    return PairedDifference((num_first_only - num_second_only) / n, difference / total, variance, n)


def mean_difference(parts: Sequence[PairedDifference], confidence: float) -> Estimate | Missing:
    """Unweighted mean of independent paired differences (one a corpus), with its interval."""
    if not parts:
        return Missing("no question was answered by both")
    value = sum(part.value for part in parts) / len(parts)
    centre = sum(part.centre for part in parts) / len(parts)
    half = _z(confidence) * math.sqrt(sum(part.variance for part in parts)) / len(parts)
    return Estimate(value, max(-1.0, centre - half), min(1.0, centre + half), sum(part.n for part in parts))
