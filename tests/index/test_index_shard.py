"""Building a shard, and what comes back from its bytes."""

import gc
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from teleembed_ray.errors import ArtifactError
from teleembed_ray.index.shard import HEADER, build_shard, shard_from_bytes, shard_to_bytes

VECTORS_CD = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]], np.float32)
IDS = ["c", "a", "b"]


def test_rows_are_in_id_order_and_keep_their_vectors() -> None:
    shard = build_shard(IDS, VECTORS_CD)
    assert shard.ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(shard.vectors, [[1, 0], [0, 2], [3, 4]])
    assert shard.max_norm == 5.0
    assert (shard.num_rows, shard.num_dims) == (3, 2)


def test_the_order_of_the_rows_does_not_change_the_bytes() -> None:
    order = [2, 0, 1]
    assert shard_to_bytes(build_shard(IDS, VECTORS_CD)) == shard_to_bytes(
        build_shard([IDS[i] for i in order], VECTORS_CD[order])
    )


def test_a_strided_array_keeps_each_row() -> None:
    wide_CD = np.repeat(VECTORS_CD, 2, axis=1)
    np.testing.assert_array_equal(build_shard(IDS, wide_CD[:, ::2]).vectors, build_shard(IDS, VECTORS_CD).vectors)


def test_the_view_of_the_vectors_outlives_the_shard() -> None:
    rows_CD = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)
    view_CD = build_shard([f"{row:04d}" for row in range(1000)], rows_CD).vectors
    gc.collect()
    # Memory that was freed is soon written over.
    others = [np.ones((1000, 64), np.float32) for _ in range(20)]
    np.testing.assert_array_equal(view_CD, rows_CD)
    assert not view_CD.flags.writeable
    assert len(others) == 20


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_refused_by_id(value: float) -> None:
    vectors_CD = VECTORS_CD.copy()
    vectors_CD[1, 1] = value
    with pytest.raises(ValueError, match="1 vectors are not finite, the first is that of 'a'"):
        build_shard(IDS, vectors_CD)


def test_an_id_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' stands twice"):
        build_shard(["a", "b", "a"], VECTORS_CD)


@pytest.mark.parametrize(
    "vectors",
    [VECTORS_CD.astype(np.float64), VECTORS_CD.astype(np.float16), VECTORS_CD[0], VECTORS_CD[:2], VECTORS_CD[:, :0]],
)
def test_another_dtype_or_shape_is_refused(vectors: npt.NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"float32 array|do not go with"):
        build_shard(IDS, vectors)


def test_bytes_bring_back_the_shard() -> None:
    ids = ["\u00e9\n,", "a\x00b", ""]
    shard = build_shard(ids, VECTORS_CD)
    back = shard_from_bytes(shard_to_bytes(shard))
    assert back.ids.tolist() == shard.ids.tolist() == sorted(ids)
    assert back.vectors.tobytes() == shard.vectors.tobytes()
    assert back.max_norm == shard.max_norm


def test_an_empty_shard_survives_its_bytes() -> None:
    back = shard_from_bytes(shard_to_bytes(build_shard([], np.empty((0, 4), np.float32))))
    assert (back.num_rows, back.num_dims, back.vectors.shape) == (0, 4, (0, 4))


def test_each_damaged_byte_is_noticed() -> None:
    data = shard_to_bytes(build_shard(IDS, VECTORS_CD))
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x41
        with pytest.raises(ArtifactError, match="run the stage `index` again"):
            shard_from_bytes(bytes(damaged))


@pytest.mark.parametrize("cut", [0, 3, HEADER.size, -1])
def test_a_truncated_file_is_refused(cut: int) -> None:
    with pytest.raises(ArtifactError, match="not a usable shard"):
        shard_from_bytes(shard_to_bytes(build_shard(IDS, VECTORS_CD))[:cut])


@pytest.mark.parametrize(("field", "value"), [(1, 2), (2, 3), (3, 4)])
def test_version_dims_and_rows_are_checked_even_with_a_good_digest(field: int, value: int) -> None:
    data = shard_to_bytes(build_shard(IDS, VECTORS_CD))
    fields = list(struct.unpack(HEADER.format, data[: HEADER.size]))
    fields[field] = value
    with pytest.raises(ArtifactError, match="expected"):
        shard_from_bytes(HEADER.pack(*fields) + data[HEADER.size :])
