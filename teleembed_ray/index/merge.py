"""Hits of many shards -> one ranking a question, as one flat index over all rows would give it.

Strategy C of TeleEmbedBench (Section IV-B) is such a merge over the shards of every corpus, not a second index.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MERGED = pa.schema(
    [("question_id", pa.string()), ("chunk_ids", pa.list_(pa.string())), ("scores", pa.list_(pa.float32()))]
)


def _flat_hits(hits: pa.Table) -> pa.Table:
    """Return (question, chunk_id, score), one row a hit; question is the place of the id in the sorted unique ids."""
    lists = hits.select(["question_id", "chunk_ids", "scores"]).combine_chunks()
    chunk_ids, scores = lists["chunk_ids"], lists["scores"]
    if lists["question_id"].null_count or chunk_ids.null_count or scores.null_count:
        raise ValueError("hits: question_id, chunk_ids and scores must not be null")
    if not pc.list_value_length(chunk_ids).equals(pc.list_value_length(scores)):
        raise ValueError("hits: each row needs as many scores as chunk ids")
    parents = pc.list_parent_indices(chunk_ids)
    flat = pa.table(
        {
            "question_id": lists["question_id"].take(parents),
            "chunk_id": pc.list_flatten(chunk_ids),
            "score": pc.list_flatten(scores),
        }
    )
    if flat["chunk_id"].null_count or flat["score"].null_count or pc.any(pc.is_nan(flat["score"])).as_py():
        raise ValueError("hits: a hit without chunk id or score")
    return flat


def _starts(values_N: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Mark the first of each run of equal values."""
    return np.concatenate([np.ones(min(1, len(values_N)), bool), values_N[1:] != values_N[:-1]])


def merge_hits(hits: pa.Table, k: int) -> pa.Table:
    """hits (question_id, chunk_ids, scores; one row a question and shard) -> merged, one row a question in id order.

    Keeps the top k by (score descending, chunk_id ascending); a question whose shards are all empty keeps empty lists.
    Row order does not matter. Raises ValueError for nulls, NaN, lists of unequal length, k < 1, and for a chunk that
    stands twice under one question: a shard was searched twice, or two shards hold the same chunk.
    """
    if k < 1:
        raise ValueError(f"k: {k} must be at least 1")
    flat = _flat_hits(hits)
    distinct = flat.group_by(["question_id", "chunk_id"]).aggregate([([], "count_all")])
    if distinct.num_rows != flat.num_rows:
        twice = distinct.filter(pc.greater(distinct["count_all"], 1)).slice(0, 1).to_pylist()[0]
        raise ValueError(f"chunk {twice['chunk_id']!r} stands twice under question {twice['question_id']!r}")
    flat = flat.sort_by([("question_id", "ascending"), ("score", "descending"), ("chunk_id", "ascending")])
    questions = pc.unique(hits["question_id"]).sort()
    question_N = pc.index_in(flat["question_id"], questions).to_numpy()
    # Place of each hit within its question: its row less the row where the question's hits start.
    first_N = np.flatnonzero(_starts(question_N))
    place_N = np.arange(len(question_N)) - np.repeat(first_N, np.diff(np.append(first_N, len(question_N))))
    kept_N = place_N < k
    kept = flat.filter(pa.array(kept_N)).combine_chunks()
    lengths = np.bincount(question_N[kept_N], minlength=len(questions))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    lists = [_list_column(offsets, kept[name]) for name in ("chunk_id", "score")]
    return pa.table([questions, *lists], schema=MERGED)


def _list_column(offsets: pa.Array, values: pa.ChunkedArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(values.chunks))


def rank_of(gold_ids: Mapping[str, str], merged: pa.Table) -> pa.Array:
    """gold chunk of each question, merged -> its 1-based rank, int32 in the row order of `merged`; null if absent.

    `gold_ids` maps question_id to chunk_id; more questions than `merged` has are allowed, KeyError for a missing one.
    """
    ranks: list[int | None] = []
    for row in merged.select(["question_id", "chunk_ids"]).to_pylist():
        gold_id = gold_ids[row["question_id"]]
        ranks.append(row["chunk_ids"].index(gold_id) + 1 if gold_id in row["chunk_ids"] else None)
    return pa.array(ranks, pa.int32())
