"""`teleembed plan` and `teleembed status`: what would run, and what is there."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from teleembed_ray.config import load_config
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import state
from teleembed_ray.progress import Progress
from teleembed_ray.run import Run, prepare
from teleembed_ray.stages.estimate import estimate
from teleembed_ray.stages.order import STAGES


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _prepared(config_path: Path, assignments: Sequence[str]) -> Run | None:
    """Return the run, or None where its demo corpus is not written yet, so that there is nothing to count."""
    config = load_config(config_path, assignments)
    if config.demo is not None and not (Path(config.demo.folder) / "corpus.json").is_file():
        click.echo(
            f"The demo corpus is not written yet: `teleembed run` writes {config.demo.num_documents} documents a "
            f"corpus to {config.demo.folder} first. After that, plan and status can count."
        )
        return None
    return prepare(config_path, assignments, STAGES, Progress(), write=False)


def print_plan(config_path: Path, assignments: Sequence[str]) -> None:
    """Print, for each stage, how many cells are there and what the others would cost."""
    run = _prepared(config_path, assignments)
    if run is None:
        return
    costs = estimate(run.plan, run.lake)
    click.echo(f"{'stage':<10} {'cells':>7} {'to run':>7} {'rows':>10} {'tokens':>13} {'time':>9}")
    for stage, (stale, cost) in costs.items():
        shown = (f"{cost.rows:,}", f"{cost.tokens:,}", duration(cost.seconds)) if stale else ("", "", "")
        total = len(run.plan.cells[stage])
        click.echo(f"{stage:<10} {total:>7} {len(stale):>7} {shown[0]:>10} {shown[1]:>13} {shown[2]:>9}")
    seconds = sum(cost.seconds for stale, cost in costs.values() if stale)
    tokens = sum(cost.tokens for stale, cost in costs.values() if stale)
    if not any(stale for stale, _ in costs.values()):
        click.echo("Nothing would run: every cell is there.")
        return
    click.echo(f"About {tokens:,} model tokens and {duration(seconds)}, from file sizes and this machine's speed;")
    click.echo("half of the candidates are taken to become pairs. Right within a factor of about two.")


def print_status(config_path: Path, assignments: Sequence[str]) -> None:
    """Print, for each table, cells by state, rows, and seconds spent."""
    run = _prepared(config_path, assignments)
    if run is None:
        return
    click.echo(f"lake: {run.lake.root}")
    click.echo(f"{'table':<11} {'cells':>6} {'done':>6} {'stale':>6} {'missing':>8} {'rows':>10} {'seconds':>9}")
    tables = list(dict.fromkeys(cell.table for cell in run.plan.all_cells))
    for table in tables:
        cells = [cell for cell in run.plan.all_cells if cell.table == table]
        states = Counter(state(run.lake, cell) for cell in cells)
        found = [partition for cell in cells if (partition := run.lake.partition(cell.table, cell.keys))]
        rows = sum(partition.num_rows for partition in found)
        seconds = sum(partition.manifest.get("wall_s", 0.0) for partition in found)
        stale = states["stale"] + states["damaged"]
        click.echo(
            f"{table:<11} {len(cells):>6} {states['done']:>6} {stale:>6} {states['missing']:>8} "
            f"{rows:>10,} {seconds:>9,.1f}"
        )
    print_rejects(run.lake)


def print_rejects(lake: Lake) -> None:
    """Print the rejects of the lake by stage, corpus and reason."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for partition in lake.partitions("rejects"):
        for row in lake.read(partition, ["stage", "corpus", "reason"]).to_pylist() if partition.num_rows else []:
            counts[row["stage"], row["corpus"], row["reason"]] += 1
    for (stage, corpus, reason), count in sorted(counts.items()):
        click.echo(f"rejects: {count:,} {reason} in {corpus} ({stage})")
