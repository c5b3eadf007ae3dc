"""Part by part through Ray: nothing lost, nothing twice, nothing computed again."""

import io
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import ray

from teleembed_ray import schemas
from teleembed_ray.config import ActorConfig
from teleembed_ray.errors import ArtifactError
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import Cell, RunContext, make_cell, state
from teleembed_ray.progress import Progress
from teleembed_ray.stages.parts import PartTask, Work, run_parts, single_task

pytestmark = pytest.mark.ray

# Workers do not see the test tree, so the functions of this file travel as code.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def context(tmp_path: Path, ray_session: None) -> RunContext:
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    return RunContext(None, lake, Progress(io.StringIO()), {"packages": {}})  # type: ignore[arg-type]


def a_cell(corpus: str = "oran", salt: str = "") -> Cell:
    return make_cell("chunk", 1, "chunks", {"corpus": corpus, "chunk_size": 512}, {"salt": salt}, [])


def work(cell: Cell, num_parts: int) -> Work:
    return Work(cell, [PartTask(cell.fingerprint, part, part, part + 1) for part in range(num_parts)])


def read_numbers(lake: Lake, task: PartTask) -> pa.Table:
    """Part p holds the p + 1 rows p0, p1, ... of one document each."""
    rows = [
        {"chunk_id": f"{task.source}-{row}", "corpus": "oran", "text": f"text {row}"} for row in range(task.num_rows)
    ]
    return pa.Table.from_pylist(rows, schema=schemas.CHUNKS)


def mark_first_row(task: PartTask, rows: pa.Table) -> pa.Table:
    """Row 0 of each part is bad."""
    reasons = [None] * rows.num_rows
    reasons[0] = "bad"  # type: ignore[call-overload]
    return rows.append_column(schemas.REASON, pa.array(reasons, pa.string())).append_column(
        schemas.DETAIL, pa.array(["first"] * rows.num_rows, pa.large_string())
    )


def run(context: RunContext, works: list[Work], **options: object) -> None:
    run_parts(context, works, read_numbers, label="test", unit="rows", empty=schemas.CHUNKS, **options)  # type: ignore[arg-type]


def test_every_row_arrives_once_and_parts_keep_their_order(context: RunContext) -> None:
    cell = a_cell()
    run(context, [work(cell, 7)])
    rows = context.lake.read(context.lake.require("chunks", cell.keys, "chunk"))
    assert rows["chunk_id"].to_pylist() == [f"{part}-{row}" for part in range(7) for row in range(part + 1)]
    assert state(context.lake, cell) == "done"


def test_bad_rows_become_rejects_with_their_reason_and_good_rows_stay(context: RunContext) -> None:
    cell = a_cell()
    run(context, [work(cell, 3)], kernel=mark_first_row)
    good = context.lake.read(context.lake.require("chunks", cell.keys, "chunk"))
    rejects = context.lake.read_all("rejects", {"corpus": "oran"})
    assert rejects is not None
    assert good["chunk_id"].to_pylist() == ["1-1", "2-1", "2-2"]
    assert sorted(rejects["id"].to_pylist()) == ["0-0", "1-0", "2-0"]
    assert set(rejects["reason"].to_pylist()) == {"bad"}
    assert set(rejects["stage"].to_pylist()) == {"chunk"}


def test_rejects_of_an_earlier_fingerprint_do_not_outlive_it(context: RunContext) -> None:
    run(context, [work(a_cell(), 3)], kernel=mark_first_row)
    run(context, [work(a_cell(salt="new"), 3)])
    rejects = context.lake.partitions("rejects")
    assert sum(partition.num_rows for partition in rejects) == 0


def test_finished_parts_are_not_computed_again(context: RunContext, tmp_path: Path) -> None:
    cell = a_cell()
    context.lake.write_part(cell.fingerprint, 1, read_numbers(context.lake, PartTask(cell.fingerprint, 1, 99, 2)))
    run(context, [work(cell, 3)])
    rows = context.lake.read(context.lake.require("chunks", cell.keys, "chunk"))
    assert rows["chunk_id"].to_pylist() == ["0-0", "99-0", "99-1", "2-0", "2-1", "2-2"]


def test_a_failing_part_keeps_the_cells_that_were_done(context: RunContext) -> None:
    def fail_in_core(task: PartTask, rows: pa.Table) -> pa.Table:
        if task.source == 5:
            raise ArtifactError("part five is broken")
        return rows

    good = a_cell("oran")
    run(context, [work(good, 2)], kernel=fail_in_core)
    with pytest.raises(Exception, match="part five is broken"):
        run(context, [work(a_cell("core"), 6)], kernel=fail_in_core)
    assert state(context.lake, good) == "done"
    assert state(context.lake, a_cell("core")) == "missing"


def test_a_cell_without_parts_is_an_empty_table_and_not_a_missing_one(context: RunContext) -> None:
    cell = a_cell()
    run(context, [work(cell, 0)])
    rows = context.lake.read(context.lake.require("chunks", cell.keys, "chunk"))
    assert rows.num_rows == 0
    assert rows.schema.equals(schemas.CHUNKS)


def test_a_part_that_is_empty_after_rejection_is_still_published(context: RunContext) -> None:
    cell = a_cell()
    run(context, [work(cell, 1)], kernel=mark_first_row)
    assert context.lake.require("chunks", cell.keys, "chunk").num_rows == 0
    assert state(context.lake, cell) == "done"


def test_the_longest_part_does_not_begin_last_and_the_rows_keep_their_order(
    context: RunContext, tmp_path: Path
) -> None:
    def note(task: PartTask, rows: pa.Table) -> pa.Table:
        with (tmp_path / "begun").open("a") as file:
            file.write(f"{task.part} ")
        return rows

    cell = a_cell()
    tasks = [PartTask(cell.fingerprint, part, part, 1, num_bytes) for part, num_bytes in enumerate((5, 5, 5, 5, 5, 9))]
    run(context, [Work(cell, tasks)], kernel=note)
    assert "5" in (tmp_path / "begun").read_text().split()[:2]
    rows = context.lake.read(context.lake.require("chunks", cell.keys, "chunk"))
    assert rows["chunk_id"].to_pylist() == [f"{part}-0" for part in range(6)]


def test_one_and_two_actors_write_the_same_bytes(context: RunContext) -> None:
    def make_kernel() -> object:
        return mark_first_row

    hashes = []
    for num_actors in (1, 2):
        cell = a_cell(salt=f"{num_actors}")
        actors = ActorConfig(num_actors=num_actors, num_cpus=0.5)
        run(context, [work(cell, 5)], make_kernel=make_kernel, actors=actors)
        hashes.append(context.lake.require("chunks", cell.keys, "chunk").manifest["content_hash"])
    assert hashes[0] == hashes[1]


def test_a_part_larger_than_rays_block_size_stays_one_part(context: RunContext) -> None:
    def read_wide(lake: Lake, task: PartTask) -> pa.Table:
        rows = [{"chunk_id": str(row), "corpus": "oran", "text": "x" * 1_000_000} for row in range(160)]
        return pa.Table.from_pylist(rows, schema=schemas.CHUNKS)

    cell = a_cell()
    tasks = [PartTask(cell.fingerprint, 0, 0, 160)]
    run_parts(
        context,
        [Work(cell, tasks)],
        read_wide,
        make_kernel=lambda: lambda task, rows: rows,
        actors=ActorConfig(num_cpus=0.5),
        label="wide",
        unit="rows",
        empty=schemas.CHUNKS,
    )
    assert context.lake.require("chunks", cell.keys, "chunk").num_rows == 160


def test_a_block_that_mixes_parts_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"\[0, 1\]"):
        single_task(pa.table({"_task": pa.array([0, 1], pa.int32()), "x": [1, 2]}))
