"""Confidence intervals: Wilson's for a proportion, the percentile bootstrap for a mean."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from teleembed_ray import ids

Floats = npt.NDArray[np.float64]

# None where there is nothing to take an interval of.
Interval = tuple[float | None, float | None]

# Bounds the memory of the bootstrap: 4 M counts of 8 bytes are 32 MB.
BLOCK_COUNTS = 1 << 22


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of one cell: it depends on the seed and the cell's keys, not on what was drawn before."""
    return np.random.default_rng(int(ids.digest("bootstrap", seed, *keys), 16))


def wilson(num_successes: int, n: int, confidence: float) -> Interval:
    """Return Wilson's score interval, without continuity correction, of `num_successes` in `n`; None for n = 0."""
    if not 0 <= num_successes <= n:
        raise ValueError(f"{num_successes} successes in {n}")
    if not n:
        return None, None
    z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    share = num_successes / n
    denominator = 1.0 + z * z / n
    center = (share + z * z / (2.0 * n)) / denominator
    half = z / denominator * np.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    # At the two ends the bound is exact; floating point may miss it by the last bit.
    low = 0.0 if num_successes == 0 else float(center - half)
    high = 1.0 if num_successes == n else float(center + half)
    return low, high


def _resampled_means(values_N: Floats, rng: np.random.Generator, num_resamples: int) -> Floats:
    """Return the means of `num_resamples` samples of N, drawn with replacement from the N values.

    How often each distinct value is drawn is multinomial: for ranks, a handful of counts in place of N indices, and the
    order of the values cannot matter.
    """
    distinct_V, counts_V = np.unique(values_N, return_counts=True)
    means_R = np.empty(num_resamples)
    step = max(1, BLOCK_COUNTS // len(distinct_V))
    for begin in range(0, num_resamples, step):
        size = min(step, num_resamples - begin)
        counts_RV = rng.multinomial(len(values_N), counts_V / len(values_N), size=size)
        means_R[begin : begin + size] = counts_RV @ distinct_V / len(values_N)
    return means_R


def bootstrap_mean(
    strata: Sequence[Floats], rng: np.random.Generator, confidence: float, num_resamples: int
) -> Interval:
    """strata of values -> percentile interval of the unweighted mean of the strata's means; None without values.

    Each stratum is resampled within itself (Efron and Tibshirani, An Introduction to the Bootstrap, Chapter 13); one
    stratum gives the interval of a plain mean. Empty strata are left out.
    """
    filled = [values_N for values_N in strata if len(values_N)]
    if not filled:
        return None, None
    means_R = np.zeros(num_resamples)
    for values_N in filled:
        means_R += _resampled_means(values_N, rng, num_resamples)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means_R / len(filled), [tail, 1.0 - tail])
    return float(low), float(high)
