"""What a fingerprint hashes, and which stages a selection means."""

import io
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.lake import Lake, part_name
from teleembed_ray.pipeline import RunContext, make_cell, run, select_stages, state
from teleembed_ray.progress import Progress
from teleembed_ray.stages.order import STAGES

KEYS = {"corpus": "oran", "chunk_size": 512}


def names(**options: object) -> list[str]:
    return [stage.name for stage in select_stages(STAGES, **options)]  # type: ignore[arg-type]


def test_the_stages_run_in_the_order_of_the_data() -> None:
    written: set[str] = {"rejects"}
    for stage in STAGES:
        assert set(stage.reads) <= written, stage.name
        written |= set(stage.writes)


def test_selections() -> None:
    assert names() == ["ingest", "chunk", "pairs", "embed", "index", "retrieve", "audit", "evaluate", "report"]
    assert names(start="index") == ["index", "retrieve", "audit", "evaluate", "report"]
    assert names(end="chunk") == ["ingest", "chunk"]
    assert names(start="pairs", end="embed") == ["pairs", "embed"]
    assert names(only=["report", "chunk"]) == ["chunk", "report"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"only": ["embedd"]}, "--only: 'embedd': is no stage; the stages are ingest, chunk"),
        ({"start": "x"}, "--from: 'x'"),
        ({"end": "x"}, "--until: 'x'"),
        ({"start": "embed", "end": "chunk"}, "comes after --until 'chunk'"),
        ({"only": ["chunk"], "end": "chunk"}, "cannot be combined"),
    ],
)
def test_a_wrong_selection_names_the_option(options: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        names(**options)


def test_a_fingerprint_changes_with_everything_that_shapes_rows_and_with_nothing_else() -> None:
    cell = make_cell("chunk", 1, "chunks", KEYS, {"overlap": 50}, ["a", "b"])
    assert cell.fingerprint == make_cell("chunk", 1, "chunks", KEYS, {"overlap": 50}, ["a", "b"]).fingerprint
    others = [
        make_cell("chunk", 2, "chunks", KEYS, {"overlap": 50}, ["a", "b"]),
        make_cell("chunk", 1, "chunks", {**KEYS, "chunk_size": 1024}, {"overlap": 50}, ["a", "b"]),
        make_cell("chunk", 1, "chunks", KEYS, {"overlap": 51}, ["a", "b"]),
        make_cell("chunk", 1, "chunks", KEYS, {"overlap": 50}, ["b", "a"]),
    ]
    assert len({cell.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_a_cell_is_done_only_with_its_own_fingerprint_and_all_its_files(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    cell = make_cell("chunk", 1, "chunks", KEYS, {}, [])
    assert state(lake, cell) == "missing"
    lake.publish("chunks", KEYS, "other", {}, [lake.write_part("other", 0, pa.table({"x": [1]}))])
    assert state(lake, cell) == "stale"
    file = lake.write_part(cell.fingerprint, 0, pa.table({"x": [1]}))
    lake.publish("chunks", KEYS, cell.fingerprint, {}, [file])
    assert state(lake, cell) == "done"
    (tmp_path / "lake" / cell.path / part_name(0)).unlink()
    assert state(lake, cell) == "damaged"


def test_a_stale_input_is_refused_with_the_stage_to_run(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    context = RunContext(None, lake, Progress(io.StringIO()), {})  # type: ignore[arg-type]
    lake.publish("chunks", KEYS, "other", {}, [lake.write_part("other", 0, pa.table({"x": [1]}))])
    with pytest.raises(ArtifactError, match="--from chunk"):
        context.partition(make_cell("chunk", 1, "chunks", KEYS, {}, []))


def test_nothing_to_do_starts_no_ray(tmp_path: Path) -> None:
    class NoPlan:
        cells: ClassVar[dict[str, list[object]]] = {stage.name: [] for stage in STAGES}
        config = None

    lake = Lake(str(tmp_path))
    context = RunContext(NoPlan(), lake, Progress(io.StringIO()), {})  # type: ignore[arg-type]

    def connect() -> None:
        raise AssertionError("Ray was started")

    assert run(context, [stage for stage in STAGES if stage.name != "report"], connect) == 0
