"""How the stage `embed` cuts its input."""

from types import SimpleNamespace
from typing import Any

import pytest

from teleembed_ray.pipeline import Cell
from teleembed_ray.stages.embed import cut

CELL = Cell("embed", "vectors", {"kind": "chunk"}, "f", {}, ())


def partition(*num_rows: int) -> Any:
    files = [SimpleNamespace(name=f"part-{index}.parquet", num_rows=rows) for index, rows in enumerate(num_rows)]
    return SimpleNamespace(path="chunks/x", files=files, num_rows=sum(num_rows))


@pytest.mark.parametrize(
    ("files", "sizes"),
    [
        # Few rows are still cut, so that two actors share them; an empty file gives no part.
        ((40, 0), [16, 16, 8]),
        # 3,200 rows in 32 parts, none of which reaches from one file into the next.
        ((150, 3050), [100, 50, *[100] * 30, 50]),
        # However long a cell is, a part stays small.
        ((100_000,), [*[1024] * 97, 672]),
        ((), []),
    ],
)
def test_each_row_is_in_one_part_whatever_the_files(files: tuple[int, ...], sizes: list[int]) -> None:
    tasks = list(cut(CELL, partition(*files)))
    assert [task.num_rows for task in tasks] == sizes
    assert [task.part for task in tasks] == list(range(len(sizes)))
    rows = [(task.source[0], row) for task in tasks for row in range(task.source[2], task.source[2] + task.num_rows)]
    expected = [(f"chunks/x/part-{index}.parquet", row) for index, count in enumerate(files) for row in range(count)]
    assert rows == expected
