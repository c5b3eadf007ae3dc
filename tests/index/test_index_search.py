"""Exactness of a shard's search: against exactly rounded scores, and across batches and threads."""

import math
from collections.abc import Iterator

import faiss
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teleembed_ray.index import search
from teleembed_ray.index.search import canonical_scores, hits_table, search_shard
from teleembed_ray.index.shard import Float32s, Shard, build_shard


def unit_vectors(rng: np.random.Generator, num_rows: int, num_dims: int) -> Float32s:
    vectors_CD = rng.normal(size=(num_rows, num_dims))
    vectors_CD /= np.linalg.norm(vectors_CD, axis=1, keepdims=True)
    return vectors_CD.astype(np.float32)


def row_ids(num_rows: int) -> list[str]:
    return [f"{row:05d}" for row in range(num_rows)]


def exact_score(query_D: Float32s, vector_D: Float32s) -> np.float32:
    """The inner product: float32 products are exact in float64, and fsum rounds their exact sum once."""
    return np.float32(math.fsum((query_D.astype(np.float64) * vector_D.astype(np.float64)).tolist()))


def exact_top(ids: list[str], vectors_CD: Float32s, query_D: Float32s, k: int) -> list[tuple[str, np.float32]]:
    scored = [(-exact_score(query_D, vector_D), id_) for id_, vector_D in zip(ids, vectors_CD, strict=True)]
    return [(id_, -score) for score, id_ in sorted(scored)[:k]]


@pytest.mark.parametrize("num_dims", [1, 2, 3, 7, 384, 1000])
def test_canonical_scores_are_the_rounded_exact_products(num_dims: int) -> None:
    rng = np.random.default_rng(num_dims)
    queries_PD, vectors_PD = unit_vectors(rng, 40, num_dims), unit_vectors(rng, 40, num_dims)
    expected = [exact_score(query, vector) for query, vector in zip(queries_PD, vectors_PD, strict=True)]
    assert canonical_scores(queries_PD, vectors_PD).tolist() == [float(score) for score in expected]


def test_equal_scores_have_equal_bits() -> None:
    zeros = canonical_scores(np.array([[1, 0]], np.float32), np.array([[-0.0, -0.0]], np.float32))
    assert zeros.tobytes() == np.zeros(1, np.float32).tobytes()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 120), st.integers(1, 60), st.integers(1, 4))
def test_search_is_the_exact_top_k_with_ties_by_id(seed: int, num_rows: int, k: int, num_distinct: int) -> None:
    # Few distinct vectors: ties run over the cut, and FAISS would keep any of them.
    rng = np.random.default_rng(seed)
    vectors_CD = unit_vectors(rng, num_distinct * 10, 16)[rng.integers(0, num_distinct * 10, num_rows)]
    ids = [str(number) for number in rng.permutation(num_rows)]
    queries_QD = unit_vectors(rng, 3, 16)
    found_ids, found_scores = search_shard(build_shard(ids, vectors_CD), queries_QD, k)
    assert found_ids.shape == found_scores.shape == (3, min(k, num_rows))
    assert found_scores.dtype == np.float32
    for query_D, ids_K, scores_K in zip(queries_QD, found_ids, found_scores, strict=True):
        assert list(zip(ids_K.tolist(), scores_K, strict=True)) == exact_top(ids, vectors_CD, query_D, k)


@pytest.mark.parametrize("num_twins", [60, 400])
def test_ties_beyond_the_proposed_candidates_are_all_seen(num_twins: int) -> None:
    # More twins than k + MARGIN: whichever of them FAISS proposes, the lowest ids must win.
    rng = np.random.default_rng(3)
    vectors_CD = unit_vectors(rng, 500, 32)
    vectors_CD[100 : 100 + num_twins] = vectors_CD[100]
    ids = row_ids(500)[::-1]
    found_ids, found_scores = search_shard(build_shard(ids, vectors_CD), vectors_CD[100:101], 5)
    twins = sorted(ids[100 : 100 + num_twins])
    assert found_ids.tolist() == [twins[:5]]
    assert len(set(found_scores[0].tolist())) == 1


def test_near_ties_below_the_precision_of_faiss_are_ordered_exactly() -> None:
    # Scores that differ by parts in 1e-7 over 120 rows: float32 sums of 768 products cannot tell them apart.
    rng = np.random.default_rng(5)
    query_D = unit_vectors(rng, 1, 768)[0]
    vectors_CD = np.tile(unit_vectors(rng, 1, 768), (120, 1))
    vectors_CD[np.arange(120), rng.integers(0, 768, 120)] *= np.float32(1 + 2e-5)
    ids = row_ids(120)
    found_ids, found_scores = search_shard(build_shard(ids, vectors_CD), query_D[None], 10)
    assert list(zip(found_ids[0].tolist(), found_scores[0], strict=True)) == exact_top(ids, vectors_CD, query_D, 10)


class NoisyIndex:
    """A flat index whose float32 scores err within the bound: odd rows downwards, even rows upwards or not at all.

    So may those of another BLAS; what FAISS happens to return on this machine cannot show that the bound is used.
    """

    def __init__(self, vectors_CD: Float32s, query_D: Float32s, even_error: float) -> None:
        real = faiss.IndexFlatIP(vectors_CD.shape[1])
        real.add(vectors_CD)
        self.get_xb, self.ntotal, self.d = real.get_xb, real.ntotal, real.d
        self.real = real
        exact_C = vectors_CD.astype(np.float64) @ query_D.astype(np.float64)
        worst = self.d * 2.0**-24 * np.linalg.norm(query_D) * np.linalg.norm(vectors_CD, axis=1).max()
        errors_C = np.where(np.arange(self.ntotal) % 2, -0.9, even_error)
        self.scores_C = (exact_C + worst * errors_C).astype(np.float32)

    def search(self, queries_QD: Float32s, k: int) -> tuple[Float32s, npt.NDArray[np.int64]]:
        rows_K = np.argsort(-self.scores_C, kind="stable")[:k]
        return self.scores_C[rows_K][None], rows_K[None]

    def range_search(self, queries_QD: Float32s, radius: float) -> tuple[None, Float32s, npt.NDArray[np.int64]]:
        rows_M = np.flatnonzero(self.scores_C > np.float32(radius))
        return None, self.scores_C[rows_M], rows_M


@pytest.mark.parametrize("even_error", [0.9, 0.0])
@pytest.mark.parametrize("seed", range(10))
def test_the_top_k_is_exact_however_float32_scores_err_within_their_bound(seed: int, even_error: float) -> None:
    rng = np.random.default_rng(seed)
    query_D = unit_vectors(rng, 1, 64)[0]
    # 400 near-copies of one vector: their scores spread over about twice the bound of 4e-6.
    vectors_CD = np.tile(unit_vectors(rng, 1, 64) + query_D, (400, 1))
    vectors_CD += rng.normal(scale=1e-6, size=vectors_CD.shape).astype(np.float32)
    real = build_shard(row_ids(400), vectors_CD)
    noisy = Shard(real.ids, NoisyIndex(vectors_CD, query_D, even_error), real.max_norm)
    found_ids, found_scores = search_shard(noisy, query_D[None], 3)
    assert list(zip(found_ids[0].tolist(), found_scores[0], strict=True)) == exact_top(
        row_ids(400), vectors_CD, query_D, 3
    )


def test_a_constant_encoder_ranks_by_id() -> None:
    # Not gold first, not input order: such an encoder scores about chance.
    ids = [f"{number:03d}" for number in np.random.default_rng(1).permutation(200)]
    constant_CD = np.full((200, 8), 0.25, np.float32)
    found_ids, _ = search_shard(build_shard(ids, constant_CD), constant_CD[:2], 7)
    assert found_ids.tolist() == [[f"{number:03d}" for number in range(7)]] * 2


@pytest.fixture
def one_thread_after() -> Iterator[None]:
    num_threads = faiss.omp_get_max_threads()
    yield
    faiss.omp_set_num_threads(num_threads)


@pytest.mark.usefixtures("one_thread_after")
def test_hits_do_not_depend_on_the_other_queries_nor_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    vectors_CD = unit_vectors(rng, 3000, 96)
    vectors_CD[2000:2500] = vectors_CD[:500]
    shard = build_shard(row_ids(3000), vectors_CD)
    queries_QD = np.concatenate([vectors_CD[:5], unit_vectors(rng, 1019, 96)])
    faiss.omp_set_num_threads(2)
    all_ids, all_scores = search_shard(shard, queries_QD, 20)
    # FAISS itself does not give these two calls the same scores: it takes another path below 20 queries.
    faiss.omp_set_num_threads(1)
    monkeypatch.setattr(search, "BLOCK_PRODUCTS", 1000)
    few_ids, few_scores = search_shard(shard, queries_QD[:5], 20)
    monkeypatch.setattr(search, "BLOCK_QUERIES", 100)
    block_ids, block_scores = search_shard(shard, queries_QD, 20)
    assert few_ids.tolist() == all_ids[:5].tolist()
    assert few_scores.tobytes() == all_scores[:5].tobytes()
    assert block_ids.tolist() == all_ids.tolist()
    assert block_scores.tobytes() == all_scores.tobytes()


def test_top_10_is_the_same_for_k_10_and_k_100() -> None:
    rng = np.random.default_rng(11)
    vectors_CD = np.tile(unit_vectors(rng, 300, 24), (2, 1))
    shard = build_shard(row_ids(600), vectors_CD)
    short_ids, short_scores = search_shard(shard, vectors_CD[:50], 10)
    long_ids, long_scores = search_shard(shard, vectors_CD[:50], 100)
    assert short_ids.tolist() == long_ids[:, :10].tolist()
    assert short_scores.tobytes() == np.ascontiguousarray(long_scores[:, :10]).tobytes()


def test_fewer_rows_than_k_give_fewer_hits_and_no_placeholder() -> None:
    shard = build_shard(["a", "b"], np.eye(2, dtype=np.float32))
    table = hits_table(shard, "s0", ["q1", "q2"], np.eye(2, dtype=np.float32), 10)
    assert table.schema == search.HITS
    assert table.to_pylist() == [
        {"question_id": "q1", "shard": "s0", "chunk_ids": ["a", "b"], "scores": [1.0, 0.0]},
        {"question_id": "q2", "shard": "s0", "chunk_ids": ["b", "a"], "scores": [1.0, 0.0]},
    ]


def test_an_empty_shard_and_no_queries_give_empty_hits() -> None:
    empty = build_shard([], np.empty((0, 2), np.float32))
    assert hits_table(empty, "s0", ["q"], np.ones((1, 2), np.float32), 3)["chunk_ids"].to_pylist() == [[]]
    one = build_shard(["a"], np.ones((1, 2), np.float32))
    assert search_shard(one, np.empty((0, 2), np.float32), 3)[0].shape == (0, 1)


def test_queries_of_another_model_are_refused_with_both_shapes() -> None:
    shard = build_shard(["a"], np.ones((1, 4), np.float32))
    with pytest.raises(ValueError, match=r"float32 \(1, 5\); the shard needs float32 \[queries, 4\]"):
        search_shard(shard, np.ones((1, 5), np.float32), 1)
    with pytest.raises(ValueError, match="float64"):
        search_shard(shard, np.ones((1, 4)), 1)  # type: ignore[arg-type]


def test_a_query_that_is_not_finite_or_overflows_is_refused() -> None:
    shard = build_shard(["a"], np.full((1, 2), 1e30, np.float32))
    with pytest.raises(ValueError, match="query 1 is not finite"):
        search_shard(shard, np.array([[1, 1], [np.nan, 0]], np.float32), 1)
    with pytest.raises(ValueError, match="overflow float32"):
        search_shard(shard, np.full((1, 2), 1e30, np.float32), 1)
    with pytest.raises(ValueError, match="k: 0"):
        search_shard(shard, np.ones((1, 2), np.float32), 0)
