"""Merged shards against one flat index, bit for bit."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teleembed_ray.index.merge import MERGED, merge_hits, rank_of
from teleembed_ray.index.search import HITS, hits_table
from teleembed_ray.index.shard import Float32s, build_shard


def hits(*rows: tuple[str, str, list[str], list[float]]) -> pa.Table:
    names = HITS.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=HITS)


def sharded(
    ids: list[str], vectors_CD: Float32s, shard_of_C: npt.NDArray[np.int64], queries_QD: Float32s, k: int
) -> pa.Table:
    questions = [f"q{query}" for query in range(len(queries_QD))]
    tables = []
    for number in range(int(shard_of_C.max()) + 1):
        rows = np.flatnonzero(shard_of_C == number)
        shard = build_shard([ids[row] for row in rows], vectors_CD[rows])
        tables.append(hits_table(shard, f"s{number}", questions, queries_QD, k))
    return pa.concat_tables(tables)


@pytest.mark.parametrize("num_shards", [1, 2, 7, 50])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), num_rows=st.integers(50, 300), k=st.integers(1, 40))
def test_merged_shards_equal_one_flat_index_bit_for_bit(num_shards: int, seed: int, num_rows: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    # A third of the rows are twins of others, at random places and so across shards.
    vectors_CD = rng.normal(size=(num_rows, 20)).astype(np.float32)
    vectors_CD[: num_rows // 3] = vectors_CD[rng.integers(0, num_rows, num_rows // 3)]
    ids = [f"{number:x}" for number in rng.permutation(num_rows)]
    queries_QD = np.concatenate([vectors_CD[:2], rng.normal(size=(2, 20)).astype(np.float32)])
    # Uneven shards, some of them smaller than k, each with at least one row.
    shard_of_C = np.concatenate([np.arange(num_shards), rng.geometric(0.3, num_rows - num_shards) % num_shards])
    many = merge_hits(sharded(ids, vectors_CD, shard_of_C, queries_QD, k), k)
    one = sharded(ids, vectors_CD, np.zeros(num_rows, int), queries_QD, k)
    assert many.schema == MERGED
    assert many.equals(one.select(MERGED.names))


def test_row_order_does_not_matter_and_ties_go_by_id() -> None:
    rows = [
        ("q2", "s0", ["b"], [0.5]),
        ("q1", "s1", ["d", "a"], [0.5, 0.25]),
        ("q1", "s0", ["c", "b"], [0.5, 0.25]),
    ]
    expected = [
        {"question_id": "q1", "chunk_ids": ["c", "d", "a"], "scores": [0.5, 0.5, 0.25]},
        {"question_id": "q2", "chunk_ids": ["b"], "scores": [0.5]},
    ]
    assert merge_hits(hits(*rows), 3).to_pylist() == expected
    assert merge_hits(hits(*rows[::-1]), 3).to_pylist() == expected


def test_a_question_without_hits_keeps_its_row() -> None:
    table = hits(("q1", "s0", [], []), ("q0", "s0", [], []), ("q0", "s1", ["a"], [1.0]))
    assert merge_hits(table, 5).to_pylist() == [
        {"question_id": "q0", "chunk_ids": ["a"], "scores": [1.0]},
        {"question_id": "q1", "chunk_ids": [], "scores": []},
    ]
    assert merge_hits(hits(("q1", "s0", [], [])), 5).to_pylist() == [
        {"question_id": "q1", "chunk_ids": [], "scores": []}
    ]
    assert merge_hits(hits(), 5).num_rows == 0


def test_a_slice_of_a_larger_table_merges_as_itself() -> None:
    table = hits(("q0", "s0", ["x"], [9.0]), ("q1", "s0", ["a", "b"], [2.0, 1.0]), ("q2", "s0", ["c"], [1.0]))
    assert merge_hits(table.slice(1, 1), 5).to_pylist() == [
        {"question_id": "q1", "chunk_ids": ["a", "b"], "scores": [2.0, 1.0]}
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        # The same shard twice, as a retry may write it; the same chunk in two shards under different scores.
        ([("q", "s0", ["a"], [1.0]), ("q", "s0", ["a"], [1.0])], "chunk 'a' stands twice under question 'q'"),
        ([("q", "s0", ["a", "b"], [1.0, 0.5]), ("q", "s1", ["a"], [0.2])], "chunk 'a' stands twice"),
        ([("q", "s0", ["a"], [1.0, 0.5])], "as many scores"),
        ([("q", "s0", ["a"], [float("nan")])], "without chunk id or score"),
        ([("q", "s0", [None], [1.0])], "without chunk id or score"),
        ([("q", "s0", None, None)], "must not be null"),
    ],
)
def test_hits_that_cannot_be_right_are_refused(
    rows: list[tuple[str, str, list[str], list[float]]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        merge_hits(hits(*rows), 5)


def test_k_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="k: 0"):
        merge_hits(hits(), 0)


def test_rank_counts_from_one_and_is_null_for_a_chunk_beyond_the_depth() -> None:
    merged = merge_hits(
        hits(("q1", "s0", ["a", "b"], [2.0, 1.0]), ("q2", "s0", ["a", "b"], [2.0, 1.0]), ("q3", "s0", ["a"], [1.0])), 5
    )
    # By id, in another order than the rows.
    assert rank_of({"q3": "z", "q2": "b", "q1": "a"}, merged).equals(pa.array([1, 2, None], pa.int32()))
    with pytest.raises(KeyError, match="q3"):
        rank_of({"q1": "a", "q2": "b"}, merged)
