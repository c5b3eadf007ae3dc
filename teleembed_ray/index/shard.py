"""One shard of the index: a FAISS flat inner-product index and the id of each of its rows.

Shapes: C chunks (rows), D dims.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from teleembed_ray.errors import ArtifactError

Float32s = npt.NDArray[np.float32]

# The header: magic, format version, dims, rows, bytes of the ids, bytes of the index, blake2b of the two.
MAGIC = b"TELESHRD"
VERSION = 1
DIGEST_BYTES = 16
HEADER = struct.Struct(f"<8sIIQQQ{DIGEST_BYTES}s")


@dataclass(frozen=True, eq=False)
class Shard:
    """Rows in id order, so that among equal scores the lower row number is the lower id.

    `ids` holds C strings, `index` is a faiss.IndexFlatIP of C rows, `max_norm` the largest Euclidean norm of a row.
    """

    ids: npt.NDArray[np.object_]
    index: Any
    max_norm: float

    @property
    def num_rows(self) -> int:
        return int(self.index.ntotal)

    @property
    def num_dims(self) -> int:
        return int(self.index.d)

    @property
    def vectors(self) -> Float32s:
        """The vectors [C, D] as FAISS holds them: a read-only view, no copy."""
        if not self.num_rows:
            return np.empty((0, self.num_dims), np.float32)
        return np.asarray(_Rows(self.index))


class _Rows:
    """What numpy keeps for as long as it looks at the rows of an index, so that they are not freed under it."""

    def __init__(self, index: Any) -> None:
        self.index = index
        rows_CD = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d).reshape(index.ntotal, index.d)
        address, _ = rows_CD.__array_interface__["data"]
        self.__array_interface__ = {**rows_CD.__array_interface__, "data": (address, True)}


def _make_shard(row_ids: Sequence[str], index: Any) -> Shard:
    ids_C = np.empty(len(row_ids), dtype=np.object_)
    ids_C[:] = row_ids
    shard = Shard(ids_C, index, 0.0)
    vectors_CD = shard.vectors
    squares_C = np.einsum("cd,cd->c", vectors_CD, vectors_CD, dtype=np.float64)
    return Shard(ids_C, index, float(np.sqrt(squares_C.max(initial=0.0))))


def build_shard(ids: Sequence[str], vectors_CD: Float32s) -> Shard:
    """ids and vectors [C, D] float32 -> shard, the same whatever the order of the rows.

    Raises ValueError for another dtype or shape, an id that stands twice, or a vector that is not finite.
    """
    if not isinstance(vectors_CD, np.ndarray) or vectors_CD.dtype != np.float32 or vectors_CD.ndim != 2:
        given = f"{getattr(vectors_CD, 'dtype', type(vectors_CD).__name__)} {getattr(vectors_CD, 'shape', '')}"
        raise ValueError(f"vectors must be a float32 array [chunks, dims], not {given}")
    num_rows, num_dims = vectors_CD.shape
    if num_rows != len(ids) or not num_dims:
        raise ValueError(f"{len(ids)} ids do not go with vectors of shape {vectors_CD.shape}")
    bad_C = np.flatnonzero(~np.isfinite(vectors_CD).all(axis=1))
    if bad_C.size:
        raise ValueError(f"{bad_C.size} vectors are not finite, the first is that of {ids[int(bad_C[0])]!r}")
    order_C = sorted(range(num_rows), key=ids.__getitem__)
    sorted_ids = [ids[row] for row in order_C]
    for left, right in pairwise(sorted_ids):
        if left == right:
            raise ValueError(f"id {left!r} stands twice")
    index = faiss.IndexFlatIP(num_dims)
    index.add(np.ascontiguousarray(vectors_CD[order_C]))
    return _make_shard(sorted_ids, index)


def shard_to_bytes(shard: Shard) -> bytes:
    """shard -> bytes: a header with dims, counts and a digest, the ids as JSON, the index as FAISS writes it."""
    ids_bytes = json.dumps(shard.ids.tolist()).encode()
    index_bytes = bytes(faiss.serialize_index(shard.index))
    hasher = hashlib.blake2b(ids_bytes, digest_size=DIGEST_BYTES)
    hasher.update(index_bytes)
    counts = (shard.num_dims, shard.num_rows, len(ids_bytes), len(index_bytes))
    return HEADER.pack(MAGIC, VERSION, *counts, hasher.digest()) + ids_bytes + index_bytes


def shard_from_bytes(data: bytes) -> Shard:
    """bytes -> shard; raises ArtifactError for anything but an undamaged shard of this format."""

    def refuse(why: str) -> ArtifactError:
        return ArtifactError(f"not a usable shard: {why}; run the stage `index` again")

    if len(data) < HEADER.size or data[: len(MAGIC)] != MAGIC:
        raise refuse("the header is missing")
    _, version, num_dims, num_rows, num_ids_bytes, num_index_bytes, digest = HEADER.unpack_from(data)
    if version != VERSION:
        raise refuse(f"format version {version}, expected {VERSION}")
    payload = memoryview(data)[HEADER.size :]
    if len(payload) != num_ids_bytes + num_index_bytes:
        raise refuse(f"{len(payload)} bytes after the header, expected {num_ids_bytes + num_index_bytes}")
    # FAISS trusts the lengths in what it reads, so that damage must be found before it looks.
    if hashlib.blake2b(payload, digest_size=DIGEST_BYTES).digest() != digest:
        raise refuse("the digest does not match")
    ids = json.loads(bytes(payload[:num_ids_bytes]))
    index = faiss.deserialize_index(np.frombuffer(payload[num_ids_bytes:], np.uint8))
    if not isinstance(index, faiss.IndexFlat) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
        raise refuse(f"a {type(index).__name__} is not a flat inner-product index")
    if (index.d, index.ntotal, len(ids)) != (num_dims, num_rows, num_rows):
        raise refuse(f"{len(ids)} ids and {index.ntotal} x {index.d} vectors, expected {num_rows} x {num_dims}")
    return _make_shard(ids, index)
