"""Stage `report`: everything in the lake -> the page and its tables."""

import json
from pathlib import Path

from teleembed_ray import ids
from teleembed_ray.config import RunConfig
from teleembed_ray.errors import ArtifactError
from teleembed_ray.lake import Lake, partition_path
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage, reject_keys, state
from teleembed_ray.report.page import build_report
from teleembed_ray.stages.parts import publish, rejects_fingerprint

BENCHMARK = "_benchmark.json"


def cells(plan: Plan) -> list[Cell]:
    """One cell: the page. Its partition in the lake holds no rows, only the record of what it was made from."""
    inputs = [cell.fingerprint for cells in plan.cells.values() for cell in cells]
    return [STAGE.cell("reports", {}, plan.config.report.model_dump(mode="json"), inputs)]


def page_digest(folder: Path) -> str:
    """Digest of the page and its tables, or of nothing where they are not there."""
    files = [folder / "index.html", *sorted((folder / "tables").glob("*"))]
    return ids.digest(*(part for file in files if file.is_file() for part in (file.name, file.read_bytes())))


def is_present(config: RunConfig, lake: Lake) -> bool:
    """Whether the page and tables lie where the configuration wants them, as the run wrote them."""
    record = lake.partition("reports", {})
    return record is not None and record.manifest.get("page_digest") == page_digest(Path(config.report.folder))


def benchmark(plan: Plan) -> dict[str, str]:
    """Paths and fingerprints of all partitions of a run, rejects among them: what belongs together in the lake."""
    paths = {cell.path: cell.fingerprint for cell in plan.all_cells}
    rejects = {
        partition_path("rejects", reject_keys(cell)): rejects_fingerprint(cell.fingerprint) for cell in plan.all_cells
    }
    return {**rejects, **paths}


def write_benchmark(context: RunContext) -> None:
    """Record in the lake which partitions belong to this run, so that the page can be rebuilt from the lake alone."""
    data = json.dumps(benchmark(context.plan), indent=1, sort_keys=True).encode()
    if not context.lake.exists(BENCHMARK) or context.lake.read_bytes(BENCHMARK) != data:
        context.lake.write_bytes(BENCHMARK, data)


def rebuild(lake: Lake, folder: Path, num_examples: int) -> Path:
    """Write the page from the lake alone: no documents, models or configuration are looked at."""
    if not lake.exists(BENCHMARK):
        raise ArtifactError(f"the lake {lake.root} holds no run: start with `teleembed run`")
    try:
        current = lake.restricted_to(json.loads(lake.read_bytes(BENCHMARK)))
    except (ValueError, TypeError):
        raise ArtifactError(f"{BENCHMARK} in {lake.root} is damaged: `teleembed run` writes it again") from None
    return build_report(current, folder, num_examples)


def run(context: RunContext, cells: list[Cell]) -> None:
    """Write the page from the partitions of this run's plan."""
    report = context.config.report
    for cell in context.plan.all_cells:
        if cell.stage != STAGE.name and state(context.lake, cell) != "done":
            raise ArtifactError(f"{cell.path} is missing or stale: run with --from {cell.stage} before the report")
    page = rebuild(context.lake, Path(report.folder), report.num_examples)
    for cell in cells:
        publish(context, cell, [], 0.0, page_digest=page_digest(page.parent))
    context.progress.note(f"report: {page}")


STAGE = Stage(
    "report",
    reads=(
        "documents",
        "chunks",
        "candidates",
        "pairs",
        "vectors",
        "rankings",
        "twins",
        "audits",
        "languages",
        "scores",
        "rejects",
    ),
    writes=("reports",),
    version=2,
    cells=cells,
    run=run,
    is_present=is_present,
)
