"""Which cells a run needs, which of them are there already, and running the rest in order.

A cell is one partition of one table. Its fingerprint hashes the stage's version, the settings that shape its rows, the
fingerprints of what it is computed from and the revision of the model: unchanged means skipped. The whole plan is known
before anything runs, since a fingerprint needs no rows.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from teleembed_ray import ids
from teleembed_ray.config import RunConfig
from teleembed_ray.corpora import Listing
from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.lake import PARTITION_KEYS, Keys, Lake, Partition, partition_path
from teleembed_ray.models import EncoderSource, ModelSource
from teleembed_ray.progress import Progress


@dataclass(frozen=True)
class Cell:
    """One partition that a run needs: table, keys, fingerprint, and the settings and inputs that it hashes."""

    stage: str
    table: str
    keys: Keys
    fingerprint: str
    settings: dict[str, Any]
    inputs: tuple[str, ...]

    @property
    def path(self) -> str:
        """Path of the partition below the lake."""
        return partition_path(self.table, self.keys)


@dataclass(frozen=True)
class Plan:
    """All cells of a run by stage, with what they are computed from."""

    config: RunConfig
    listings: dict[str, Listing]
    encoders: dict[str, EncoderSource]
    generator: ModelSource
    validator: ModelSource
    cells: dict[str, list[Cell]] = field(default_factory=dict)

    @property
    def all_cells(self) -> list[Cell]:
        """The cells of all stages, in order."""
        return [cell for cells in self.cells.values() for cell in cells]

    @cached_property
    def _by_path(self) -> dict[str, Cell]:
        return {}

    def add(self, stage: str, cells: list[Cell]) -> None:
        """Add the cells of one stage; those of the stages before it are there already."""
        self.cells[stage] = cells
        self._by_path.update({cell.path: cell for cell in cells})

    def find(self, table: str, **keys: str | int) -> Cell:
        """Return the cell of a table with exactly these keys."""
        return self._by_path[partition_path(table, keys)]

    def select(self, table: str, **keys: str | int) -> list[Cell]:
        """Return the cells of a table that match these keys, in plan order."""
        return [
            cell
            for cell in self.all_cells
            if cell.table == table and all(cell.keys.get(key) == value for key, value in keys.items())
        ]


@dataclass(frozen=True)
class Stage:
    """A named step: the tables it reads and writes, the cells it makes of a plan, and how it computes them."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    version: int
    cells: Callable[[Plan], list[Cell]]
    run: Callable[["RunContext", list[Cell]], None]
    # Whether what the stage leaves outside the lake is there, as the lake recorded it.
    is_present: Callable[[RunConfig, Lake], bool] = lambda config, lake: True

    def cell(self, table: str, keys: Keys, settings: dict[str, Any], inputs: Iterable[str]) -> Cell:
        """Return a cell of this stage, its fingerprint made of everything that shapes its rows."""
        return make_cell(self.name, self.version, table, keys, settings, inputs)


def make_cell(
    stage: str, version: int, table: str, keys: Keys, settings: dict[str, Any], inputs: Iterable[str]
) -> Cell:
    """Return a cell whose fingerprint hashes stage, version, table, keys, settings and input fingerprints."""
    inputs = tuple(inputs)
    text = json.dumps([stage, version, table, dict(keys), settings, inputs], sort_keys=True, default=str)
    return Cell(stage, table, keys, ids.digest("cell", text), settings, inputs)


@dataclass(frozen=True)
class RunContext:
    """What a stage needs to run: the plan, the lake and where progress goes."""

    plan: Plan
    lake: Lake
    progress: Progress
    provenance: dict[str, Any]

    @property
    def config(self) -> RunConfig:
        """The run's configuration."""
        return self.plan.config

    def partition(self, cell: Cell) -> Partition:
        """Return the published partition of a cell that an earlier stage made; raises ArtifactError."""
        partition = self.lake.require(cell.table, cell.keys, cell.stage)
        if partition.manifest["fingerprint"] != cell.fingerprint:
            raise ArtifactError(
                f"{cell.path} was made from other settings or documents than this configuration's: "
                f"run with --from {cell.stage}"
            )
        return partition


def state(lake: Lake, cell: Cell) -> str:
    """Return `done`, `stale` (made from something else), `damaged` (files missing) or `missing`."""
    partition = lake.partition(cell.table, cell.keys)
    if partition is None:
        return "missing"
    if partition.manifest["fingerprint"] != cell.fingerprint:
        return "stale"
    rejects = lake.partition("rejects", reject_keys(cell)) if partition.manifest.get("num_rejects") else partition
    return "done" if lake.is_whole(partition) and rejects is not None and lake.is_whole(rejects) else "damaged"


def reject_keys(cell: Cell) -> dict[str, str | int]:
    """Keys of the rejects partition that belongs to a cell."""
    keys = {key: value for key, value in cell.keys.items() if key in PARTITION_KEYS["rejects"]}
    return {"stage": cell.stage, **keys}


def select_stages(
    stages: Sequence[Stage], only: Sequence[str] = (), start: str | None = None, end: str | None = None
) -> list[Stage]:
    """Return the stages of `--only`, or those from `--from` until `--until`; raises ConfigError for unknown names."""
    names = [stage.name for stage in stages]
    for option, name in [*(("--only", name) for name in only), ("--from", start), ("--until", end)]:
        if name is not None and name not in names:
            raise ConfigError(f"{option}: {name!r}: is no stage; the stages are {', '.join(names)}")
    if only:
        if start or end:
            raise ConfigError("--only: cannot be combined with --from or --until")
        return [stage for stage in stages if stage.name in only]
    first = names.index(start) if start else 0
    last = names.index(end) if end else len(names) - 1
    if first > last:
        raise ConfigError(f"--from: {start!r}: comes after --until {end!r}")
    return list(stages[first : last + 1])


def run(context: RunContext, stages: Sequence[Stage], connect: Callable[[], None]) -> int:
    """Compute the cells of `stages` that are not there; return how many. `connect` starts Ray when first needed."""
    num_computed = 0
    for stage in stages:
        cells = context.plan.cells[stage.name]
        is_present = stage.is_present(context.config, context.lake)
        stale = [cell for cell in cells if not is_present or state(context.lake, cell) != "done"]
        if not stale:
            context.progress.note(f"{stage.name}: all {len(cells)} cells are there")
            continue
        if num_computed == 0:
            connect()
        started = time.monotonic()
        context.progress.note(f"{stage.name}: {len(stale)} of {len(cells)} cells to compute")
        stage.run(context, stale)
        context.progress.note(f"{stage.name}: done in {time.monotonic() - started:.1f} s")
        num_computed += len(stale)
    return num_computed
