"""Exact top-k search of one shard, the same to the last bit whatever shares the shard or the call.

FAISS scores in float32, in an order of additions that depends on the number of queries and rows: equal vectors may get
unequal scores, and ties at the cut are dropped at random. So FAISS only proposes candidates. Each candidate gets its
canonical score, which depends on the two vectors alone, and the error bound of float32 tells whether a row that FAISS
did not propose could still belong to the top k; where it could, one range search brings in every such row.

`faiss.omp_set_num_threads` changes the speed and nothing else.

Shapes: Q queries, C rows, D dims, K hits, M candidates, P (query, row) pairs.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from teleembed_ray.index.shard import Float32s, Shard

HITS = pa.schema(
    [
        ("question_id", pa.string()),
        ("shard", pa.string()),
        ("chunk_ids", pa.list_(pa.string())),
        ("scores", pa.list_(pa.float32())),
    ]
)

# Rows beyond k that FAISS proposes at first.
MARGIN = 32
# Scoring is bound by memory: 64 K float64 products are 512 KB, which stay in a core's cache.
BLOCK_PRODUCTS = 1 << 16
# Queries of one call of FAISS: bounds its result and its own blocks.
BLOCK_QUERIES = 1024

UNIT_ROUNDOFF = 2.0**-24
FLOAT32_MAX = float(np.finfo(np.float32).max)
FLOAT32_TINY = float(np.finfo(np.float32).tiny)

Ints = npt.NDArray[np.int64]


def canonical_scores(queries_PD: Float32s, vectors_PD: Float32s) -> Float32s:
    """Return the P inner products of paired rows, summed in float64 and rounded once to float32.

    Products of float32 are exact in float64. They are added in halves by element-wise additions, so that the order of
    the additions follows from D alone, on every machine and in every batch.
    """
    products_PD = vectors_PD.astype(np.float64)
    products_PD *= queries_PD
    width = products_PD.shape[1]
    while width > 1:
        half = width // 2
        products_PD[:, :half] += products_PD[:, width - half : width]
        width -= half
    # Adding 0 turns -0.0 into 0.0: equal scores have equal bits.
    scores_P: Float32s = (products_PD[:, 0] + 0.0).astype(np.float32)
    return scores_P


def _score_pairs(shard: Shard, queries_QD: Float32s, query_P: Ints, row_P: Ints) -> Float32s:
    vectors_CD = shard.vectors
    scores_P = np.empty(len(row_P), np.float32)
    step = max(1, BLOCK_PRODUCTS // shard.num_dims)
    for begin in range(0, len(row_P), step):
        block = slice(begin, begin + step)
        scores_P[block] = canonical_scores(queries_QD[query_P[block]], vectors_CD[row_P[block]])
    return scores_P


def _error_bounds(shard: Shard, queries_QD: Float32s) -> npt.NDArray[np.float64]:
    """Bound, for each query, the distance between the canonical and any float32 score of a row.

    A float32 sum of D products, in any order and with or without fused additions, is off by at most g * sum |q_i x_i|
    with g = D u / (1 - D u) (Higham, Accuracy and Stability, Section 3.1); Cauchy-Schwarz bounds the sum by the norms.
    Four more roundings cover the canonical score's own, that of the norms and the comparisons; the last term covers
    underflow.
    """
    norms_Q = np.sqrt(np.einsum("qd,qd->q", queries_QD, queries_QD, dtype=np.float64))
    terms = (shard.num_dims + 4) * UNIT_ROUNDOFF
    reach_Q = norms_Q * shard.max_norm
    if reach_Q.max(initial=0.0) >= FLOAT32_MAX:
        raise ValueError(f"scores of up to {reach_Q.max():.3g} overflow float32; normalise the vectors")
    bounds_Q: npt.NDArray[np.float64] = terms / (1 - terms) * reach_Q + shard.num_dims * FLOAT32_TINY
    return bounds_Q


def _top(rows_M: Ints, scores_M: Float32s, k: int) -> tuple[Ints, Float32s]:
    order_K = np.lexsort((rows_M, -scores_M))[:k]
    return rows_M[order_K], scores_M[order_K]


def _search_block(shard: Shard, queries_QD: Float32s, k: int) -> tuple[Ints, Float32s]:
    num_queries = len(queries_QD)
    num_candidates = min(shard.num_rows, k + MARGIN)
    bounds_Q = _error_bounds(shard, queries_QD)
    faiss_scores_QM, rows_QM = shard.index.search(queries_QD, num_candidates)
    query_P = np.repeat(np.arange(num_queries), num_candidates)
    scores_QM = _score_pairs(shard, queries_QD, query_P, rows_QM.ravel()).reshape(num_queries, num_candidates)
    order_QK = np.lexsort((rows_QM, -scores_QM))[:, :k]
    rows_QK = np.take_along_axis(rows_QM, order_QK, axis=1)
    scores_QK = np.take_along_axis(scores_QM, order_QK, axis=1)
    if num_candidates == shard.num_rows:
        return rows_QK, scores_QK
    # A row that was not proposed has at most the last proposed FAISS score. Equal is not safe: its id may be lower.
    cut_Q = scores_QK[:, -1].astype(np.float64)
    for query in np.flatnonzero(faiss_scores_QM[:, -1] + bounds_Q >= cut_Q):
        # FAISS compares in float32: one step down keeps the threshold on the safe side of that rounding.
        radius = np.nextafter(np.float32(cut_Q[query] - bounds_Q[query]), np.float32(-np.inf))
        _, _, rows_M = shard.index.range_search(queries_QD[query : query + 1], float(radius))
        scores_M = _score_pairs(shard, queries_QD, np.full(len(rows_M), query), rows_M)
        rows_QK[query], scores_QK[query] = _top(rows_M, scores_M, k)
    return rows_QK, scores_QK


def search_shard(shard: Shard, queries_QD: Float32s, k: int) -> tuple[npt.NDArray[np.object_], Float32s]:
    """shard, queries [Q, D] float32 -> ids [Q, K] and scores [Q, K] float32, best first, K = min(k, rows).

    Exact: the top k by (score descending, id ascending) of `canonical_scores` over all rows. A query's hits do not
    depend on the other queries of the call. Many rows that tie at the cut (an encoder that maps all texts to one point)
    cost time, not memory. Raises ValueError for another dtype or shape, a query that is not finite, scores beyond
    float32, or k < 1.
    """
    if k < 1:
        raise ValueError(f"k: {k} must be at least 1")
    if queries_QD.dtype != np.float32 or queries_QD.ndim != 2 or queries_QD.shape[1] != shard.num_dims:
        raise ValueError(
            f"queries are {queries_QD.dtype} {queries_QD.shape}; the shard needs float32 [queries, {shard.num_dims}]"
        )
    if not np.isfinite(queries_QD).all():
        raise ValueError(f"query {int(np.flatnonzero(~np.isfinite(queries_QD).all(axis=1))[0])} is not finite")
    num_hits = min(k, shard.num_rows)
    rows_QK = np.empty((len(queries_QD), num_hits), np.int64)
    scores_QK = np.empty((len(queries_QD), num_hits), np.float32)
    if num_hits:
        for begin in range(0, len(queries_QD), BLOCK_QUERIES):
            block = slice(begin, begin + BLOCK_QUERIES)
            queries = np.ascontiguousarray(queries_QD[block])
            rows_QK[block], scores_QK[block] = _search_block(shard, queries, num_hits)
    return shard.ids[rows_QK], scores_QK


def hits_table(shard: Shard, name: str, question_ids: list[str], queries_QD: Float32s, k: int) -> pa.Table:
    """shard, questions -> hits, one row a question in the order given; `name` fills the column `shard`."""
    if len(question_ids) != len(queries_QD):
        raise ValueError(f"{len(question_ids)} question ids do not go with {len(queries_QD)} queries")
    ids_QK, scores_QK = search_shard(shard, queries_QD, k)
    offsets = pa.array(np.arange(len(question_ids) + 1, dtype=np.int32) * ids_QK.shape[1])
    columns = [
        pa.array(question_ids, pa.string()),
        pa.array([name] * len(question_ids), pa.string()),
        pa.ListArray.from_arrays(offsets, pa.array(ids_QK.ravel(), pa.string())),
        pa.ListArray.from_arrays(offsets, pa.array(scores_QK.ravel(), pa.float32())),
    ]
    return pa.table(columns, schema=HITS)
