"""Intervals against scipy and against exact enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from teleembed_ray.metrics import intervals
from teleembed_ray.metrics.intervals import bootstrap_mean, generator, wilson


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 50), (50, 50), (7, 10), (625, 1000), (1, 7360)])
def test_wilson_equals_scipy(successes: int, n: int, confidence: float) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson(successes, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_ten_of_twenty_by_hand() -> None:
    # z^2 = 3.8415; center (0.5 + 0.0960) / 1.1921 = 0.5; half width sqrt(0.0125 + 0.0024) * 1.96 / 1.1921 = 0.2007.
    assert wilson(10, 20, 0.95) == pytest.approx((0.2993, 0.7007), abs=1e-4)


def test_the_ends_are_exact_and_never_pass_zero_or_one() -> None:
    for n in range(1, 200):
        assert wilson(0, n, 0.95)[0] == 0.0
        assert wilson(n, n, 0.95)[1] == 1.0


def test_nothing_asked_has_no_interval() -> None:
    assert wilson(0, 0, 0.95) == (None, None)
    assert bootstrap_mean([], generator(1), 0.95, 100) == (None, None)
    assert bootstrap_mean([np.array([])], generator(1), 0.95, 100) == (None, None)


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="3 successes in 2"):
        wilson(3, 2, 0.95)


def test_bootstrap_agrees_with_scipy() -> None:
    values_N = np.random.default_rng(0).choice([0.0, 0.2, 0.25, 1 / 3, 0.5, 1.0], size=200)
    result = stats.bootstrap(
        (values_N,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    low, high = bootstrap_mean([values_N], generator(7), 0.95, 20_000)
    # The Monte Carlo error of a quantile here is about 0.0006.
    assert (low, high) == pytest.approx((result.low, result.high), abs=0.003)


def test_bootstrap_of_three_values_reaches_the_enumerated_quantiles() -> None:
    values_N = np.array([0.0, 0.3, 1.0])
    means = [float(np.mean(sample)) for sample in product(values_N, repeat=3)]
    # 27 equally likely samples: the 10 % and 90 % quantiles are values that several samples share.
    expected = np.quantile(means, [0.1, 0.9], method="inverted_cdf")
    assert bootstrap_mean([values_N], generator(3), 0.8, 50_000) == pytest.approx(tuple(expected), abs=1e-12)


def test_strata_weigh_the_same_whatever_their_size() -> None:
    # The mean of means is 0.5; pooled it would be 0.1. Neither stratum varies, so that the interval is a point.
    strata = [np.ones(10), np.zeros(90)]
    assert bootstrap_mean(strata, generator(1), 0.95, 200) == (0.5, 0.5)


def test_an_empty_stratum_is_left_out_and_not_counted_as_zero() -> None:
    assert bootstrap_mean([np.array([]), np.ones(3)], generator(1), 0.95, 200) == (1.0, 1.0)


def test_strata_are_resampled_within_themselves() -> None:
    # Variance of the mean of two means: (p q / n + p q / n) / 4 with p = 0.5, n = 100 -> sd 0.03536.
    strata = [np.repeat([0.0, 1.0], 50), np.repeat([0.0, 1.0], 50)]
    low, high = bootstrap_mean(strata, generator(1), 0.95, 20_000)
    assert low == pytest.approx(0.5 - 1.96 * 0.03536, abs=0.006)
    assert high == pytest.approx(0.5 + 1.96 * 0.03536, abs=0.006)


def test_bootstrap_does_not_depend_on_the_order_of_the_values() -> None:
    values_N = np.random.default_rng(2).choice([0.0, 0.2, 1.0], size=500)
    assert bootstrap_mean([values_N], generator(5), 0.95, 1000) == bootstrap_mean(
        [np.sort(values_N)], generator(5), 0.95, 1000
    )


def test_many_distinct_values_stay_in_bounded_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values_N = np.random.default_rng(4).normal(size=300)
    whole = bootstrap_mean([values_N], generator(6), 0.95, 500)
    monkeypatch.setattr(intervals, "BLOCK_COUNTS", 300 * 7)
    assert bootstrap_mean([values_N], generator(6), 0.95, 500) == pytest.approx(whole, abs=1e-12)


def test_each_cell_and_each_seed_has_its_own_stream() -> None:
    cells: list[tuple[int, tuple[str, ...]]] = [
        (1, ("a", "b")),
        (2, ("a", "b")),
        (1, ("ab", "")),
        (1, ("b", "a")),
        (1, ("a",)),
    ]
    draws = {generator(seed, *keys).random() for seed, keys in cells}
    assert len(draws) == 5
    assert generator(1, "a", "b").random() == generator(1, "a", "b").random()
