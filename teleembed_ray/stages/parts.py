"""Part by part through Ray Data: read, kernel, write, and publish each cell as soon as its last part is there.

A part is what one block of the Dataset carries: it is read on a worker, passes the kernel (a task, or an actor that
holds a model) and is written by a worker. The driver sees receipts only, so its memory does not grow with the rows. How
a cell is cut into parts, and so what is batched with what, is decided by the plan and never by which worker is free.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray
import ray.data

from teleembed_ray import schemas
from teleembed_ray.config import ActorConfig
from teleembed_ray.lake import File, Lake
from teleembed_ray.pipeline import Cell, RunContext, reject_keys

# Columns that travel with a block: which part it is, and how many rows the part has, so that a block which Ray split
# or joined is noticed and not written.
TASK = "_task"
TASK_ROWS = "_task_rows"

Read = Callable[[Lake, "PartTask"], pa.Table]
Kernel = Callable[["PartTask", pa.Table], pa.Table]
Write = Callable[[Lake, "PartTask", pa.Table], list[File]]


@dataclass(frozen=True)
class PartTask:
    """One part to compute: the cell's fingerprint, the part's index and what the reader needs to find its input.

    `num_bytes` is the size of the input where parts differ much in it.
    """

    fingerprint: str
    part: int
    source: Any
    num_rows: int
    num_bytes: int = 0


@dataclass(frozen=True)
class Work:
    """One cell with its parts; a cell without parts is empty and is published as such."""

    cell: Cell
    tasks: list[PartTask]


@dataclass
class _Open:
    """What is known of a cell under way: its files, its rejects and the seconds spent on it."""

    work: Work
    missing: set[int]
    files: list[File] = field(default_factory=list)
    seconds: float = 0.0


def _read_op(lake: Lake, tasks: Sequence[PartTask], read: Read, name: str) -> Any:
    def op(batch: pa.Table) -> pa.Table:
        lake.check_visible()
        started = time.monotonic()
        index = batch["index"][0].as_py()
        rows = read(lake, tasks[index])
        return _tagged(rows, index, started)

    op.__name__ = f"{name}_read"
    return op


def _tagged(rows: pa.Table, index: int, started: float) -> pa.Table:
    """Add the columns that travel with a block; the time goes along in the schema's place, as a column."""
    num_rows = rows.num_rows
    return (
        rows.append_column(TASK, pa.array([index] * num_rows, pa.int32()))
        .append_column(TASK_ROWS, pa.array([num_rows] * num_rows, pa.int64()))
        .append_column("_seconds", pa.array([time.monotonic() - started] * num_rows, pa.float64()))
    )


def _untagged(batch: pa.Table) -> tuple[int, float, pa.Table]:
    """Return the part's index, the seconds so far and its rows; refuses a block that is not exactly one part."""
    index, rows = single_task(batch)
    if batch[TASK_ROWS][0].as_py() != batch.num_rows:
        raise RuntimeError(f"a block holds {batch.num_rows} of the {batch[TASK_ROWS][0]} rows of part {index}")
    return index, batch["_seconds"][0].as_py(), rows.drop_columns([TASK_ROWS, "_seconds"])


def single_task(batch: pa.Table) -> tuple[int, pa.Table]:
    """Return the part's index and its rows; refuses a block that mixes parts."""
    indices = pc.unique(batch[TASK]).to_pylist()
    if len(indices) != 1:
        raise RuntimeError(f"a block holds rows of the parts {indices}, not of one")
    return indices[0], batch.drop_columns([TASK])


def _run_kernel(kernel: Kernel, tasks: Sequence[PartTask], batch: pa.Table) -> pa.Table:
    index, seconds, rows = _untagged(batch)
    started = time.monotonic() - seconds
    out = kernel(tasks[index], rows)
    if out.num_rows == 0:
        raise RuntimeError(f"the kernel returned no row for part {tasks[index].part}; bad rows are marked, not dropped")
    return _tagged(out, index, started)


def _kernel_op(kernel: Kernel, tasks: Sequence[PartTask], name: str) -> Any:
    def op(batch: pa.Table) -> pa.Table:
        return _run_kernel(kernel, tasks, batch)

    op.__name__ = f"{name}_kernel"
    return op


def _kernel_actor(make_kernel: Callable[[], Kernel], tasks: Sequence[PartTask], name: str) -> Any:
    class Actor:
        """Loads a model once and passes parts through its kernel."""

        def __init__(self) -> None:
            self.kernel = make_kernel()

        def __call__(self, batch: pa.Table) -> pa.Table:
            return _run_kernel(self.kernel, tasks, batch)

    Actor.__name__ = Actor.__qualname__ = name
    return Actor


def split_rejects(cell: Cell, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return (good rows, rejects) of a kernel's output; the first column of a table is its id."""
    if "reason" not in rows.column_names:
        return rows, schemas.REJECTS.empty_table()
    is_bad = pc.is_valid(rows["reason"])
    bad = rows.filter(is_bad)
    num_tokens = bad["num_tokens"] if "num_tokens" in bad.column_names else pa.nulls(bad.num_rows, pa.int32())
    id_column = "id" if "id" in rows.column_names else rows.column_names[0]
    rejects = pa.table(
        {
            "id": bad[id_column],
            "stage": pa.array([cell.stage] * bad.num_rows, pa.string()),
            "corpus": pa.array([str(cell.keys.get("corpus", ""))] * bad.num_rows, pa.string()),
            "reason": bad["reason"],
            "detail": bad["detail"],
            "num_tokens": num_tokens,
        },
        schema=schemas.REJECTS,
    )
    return rows.filter(pc.invert(is_bad)).drop_columns(["reason", "detail"]), rejects


def rejects_fingerprint(fingerprint: str) -> str:
    """Folder name of the rejects that belong to a fingerprint."""
    return f"{fingerprint}-rejects"


def write_rows(lake: Lake, task: PartTask, rows: pa.Table) -> list[File]:
    """Write a part's rows, and nothing else."""
    return [lake.write_part(task.fingerprint, task.part, rows)]


def _write_op(lake: Lake, works: Sequence[Work], tasks: Sequence[PartTask], write: Write, name: str) -> Any:
    cells = {work.cell.fingerprint: work.cell for work in works}

    def op(batch: pa.Table) -> pa.Table:
        index, seconds, rows = _untagged(batch)
        started = time.monotonic() - seconds
        task = tasks[index]
        good, rejects = split_rejects(cells[task.fingerprint], rows)
        # Rejects first: a part that is there has its rejects there too.
        if rejects.num_rows:
            lake.write_part(rejects_fingerprint(task.fingerprint), task.part, rejects)
        files = write(lake, task, good)
        return receipt(index, files, time.monotonic() - started)

    op.__name__ = f"{name}_write"
    return op


def receipt(index: int, files: Sequence[File], seconds: float) -> pa.Table:
    """One row that tells the driver what was written."""
    return pa.table({"index": [index], "seconds": [seconds], "files": [json.dumps([vars(file) for file in files])]})


def publish(context: RunContext, cell: Cell, files: Sequence[File], seconds: float, **extra: Any) -> None:
    """Publish a cell's rejects, then the cell: its manifest is the last thing that is written."""
    manifest = {
        "stage": cell.stage,
        "settings": cell.settings,
        "inputs": list(cell.inputs),
        "wall_s": round(seconds, 3),
        **context.provenance,
        **extra,
    }
    rejects = context.lake.parts_done(rejects_fingerprint(cell.fingerprint))
    old_rejects = context.lake.partition("rejects", reject_keys(cell))
    if rejects or (old_rejects and old_rejects.manifest["fingerprint"] != rejects_fingerprint(cell.fingerprint)):
        old_rejects = context.lake.publish(
            "rejects",
            reject_keys(cell),
            rejects_fingerprint(cell.fingerprint),
            {"stage": cell.stage},
            [file for files in rejects.values() for file in files],
        )
    # Rejects that a run published before it was killed, short of publishing the cell, count as well.
    manifest["num_rejects"] = old_rejects.num_rows if old_rejects else 0
    context.lake.publish(cell.table, cell.keys, cell.fingerprint, manifest, files)


def run_parts(
    context: RunContext,
    works: Sequence[Work],
    read: Read,
    *,
    write: Write = write_rows,
    kernel: Kernel | None = None,
    make_kernel: Callable[[], Kernel] | None = None,
    actors: ActorConfig | None = None,
    label: str,
    unit: str,
    empty: pa.Schema,
    before_publish: Callable[[Cell], None] | None = None,
) -> None:
    """Compute every part that is not there yet and publish each cell when its last part is written.

    `kernel` runs in tasks; `make_kernel` with `actors` runs in actors that load a model once. `empty` is the schema of
    a cell without parts. `before_publish` may refuse a finished cell by raising.
    """
    lake = context.lake
    opened: dict[str, _Open] = {}
    tasks: list[PartTask] = []
    for work in works:
        done = lake.parts_done(work.cell.fingerprint)
        files = [file for task in work.tasks for file in done.get(task.part, [])]
        todo = [task for task in work.tasks if task.part not in done]
        if not work.tasks:
            files = [lake.write_part(work.cell.fingerprint, 0, empty.empty_table())]
        opened[work.cell.fingerprint] = _Open(work, {task.part for task in todo}, files)
        tasks.extend(todo)

    def close_if_complete(fingerprint: str) -> None:
        state = opened[fingerprint]
        if not state.missing:
            if before_publish:
                before_publish(state.work.cell)
            publish(context, state.work.cell, state.files, state.seconds)

    for fingerprint in opened:
        close_if_complete(fingerprint)
    if not tasks:
        return
    # Long parts first, so that no core waits at the end for one that began last.
    tasks.sort(key=lambda task: -task.num_bytes)
    dataset = _dataset(lake, works, tasks, read, write, kernel, make_kernel, actors, label)
    with context.progress.task(label, sum(task.num_rows for task in tasks), unit) as progress:
        for row in dataset.iter_rows():
            task = tasks[row["index"]]
            state = opened[task.fingerprint]
            state.files.extend(File(**entry) for entry in json.loads(row["files"]))
            state.missing.discard(task.part)
            state.seconds += row["seconds"]
            progress.advance(task.num_rows)
            close_if_complete(task.fingerprint)


def _dataset(
    lake: Lake,
    works: Sequence[Work],
    tasks: Sequence[PartTask],
    read: Read,
    write: Write,
    kernel: Kernel | None,
    make_kernel: Callable[[], Kernel] | None,
    actors: ActorConfig | None,
    label: str,
) -> Any:
    """Compose the lazy Dataset: one block a part from the first operator to the last."""
    name = label.replace(" ", "_").replace("-", "_")
    # Beside an actor the readers and writers mostly wait; alone, each task computes and takes a core.
    num_cpus = 0.25 if actors else 1.0
    blocks = {"batch_size": None, "batch_format": "pyarrow", "zero_copy_batch": True}
    dataset = ray.data.from_items([{"index": index} for index in range(len(tasks))], override_num_blocks=len(tasks))
    dataset.set_name(name)
    dataset = dataset.map_batches(_read_op(lake, tasks, read, name), num_cpus=num_cpus, **blocks)
    if kernel is not None:
        dataset = dataset.map_batches(_kernel_op(kernel, tasks, name), num_cpus=num_cpus, **blocks)
    elif make_kernel is not None and actors is not None:
        dataset = dataset.map_batches(
            _kernel_actor(make_kernel, tasks, name),
            compute=ray.data.ActorPoolStrategy(size=min(actors.num_actors, len(tasks))),
            num_cpus=actors.num_cpus,
            num_gpus=actors.num_gpus or None,
            **blocks,
        )
    return dataset.map_batches(_write_op(lake, works, tasks, write, name), num_cpus=num_cpus, **blocks)
