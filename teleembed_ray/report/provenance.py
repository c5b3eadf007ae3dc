"""How the tables came to be: stages, time, settings, models, packages and commit, from the manifests alone."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from teleembed_ray.lake import Partition
from teleembed_ray.report.cells import Column, Missing, Table, Value
from teleembed_ray.report.source import STAGES, Source, settings
from teleembed_ray.report.texts import portable

# Language models and encoders small enough for a demo: what they say measures nothing.
DEMO_MODELS = ("smollm2-135m", "gemma-3-270m", "gemma3-270m")


@dataclass(frozen=True)
class Settings:
    """Settings that some partitions of a table share."""

    table: str
    num_partitions: int
    example: str
    text: str


def lake_name(root: str) -> str:
    """Return a lake's address without this machine's folders: a URL as it is, of a local path the last piece."""
    if "://" in root and not root.startswith("file://"):
        return root
    return PurePosixPath(root.replace("\\", "/")).name or "lake"


def _stage(partition: Partition) -> str:
    return str(partition.manifest.get("stage") or STAGES.get(partition.table, partition.table))


def _distinct(partitions: Iterable[Partition], key: str) -> list[str]:
    return sorted({str(value) for partition in partitions if (value := partition.manifest.get(key))})


def _seconds(partitions: list[Partition]) -> float | Missing:
    """Work time of a stage; two of its tables with the same keys were made in one go and count once."""
    times: dict[tuple[tuple[str, str], ...], float] = {}
    for partition in partitions:
        seconds = partition.manifest.get("wall_s")
        if seconds is not None:
            key = tuple(sorted(partition.keys.items()))
            times[key] = max(times.get(key, 0.0), float(seconds))
    return sum(times[key] for key in sorted(times)) if times else Missing("not in the manifests")


def stages_table(source: Source) -> Table:
    """One row a stage: tables, partitions, rows, seconds, commit and when its last partition was made."""
    by_stage: dict[str, list[Partition]] = {stage: [] for stage in dict.fromkeys(STAGES.values())}
    for table in STAGES:
        for partition in source.partitions[table]:
            by_stage.setdefault(_stage(partition), []).append(partition)
    rows: list[tuple[Value, ...]] = []
    for stage, partitions in by_stage.items():
        if not partitions:
            gap = Missing(f"run with --from {stage}")
            rows.append((stage, gap, gap, gap, gap, gap, gap))
            continue
        tables = dict.fromkeys(partition.table for partition in partitions)
        commits = [commit[:12] for commit in _distinct(partitions, "git_commit")]
        created = _distinct(partitions, "created")
        rows.append(
            (
                stage,
                ", ".join(tables),
                len(partitions),
                sum(partition.num_rows for partition in partitions),
                _seconds(partitions),
                ", ".join(commits) or Missing("not in the manifests"),
                created[-1] if created else Missing("not in the manifests"),
            )
        )
    return Table(
        "stages",
        "What each stage left in the lake. Seconds are work, added up over all workers.",
        (
            Column("stage", "Stage"),
            Column("tables", "Tables"),
            Column("partitions", "Partitions", "count"),
            Column("rows", "Rows", "count"),
            Column("seconds", "Seconds", "seconds"),
            Column("commit", "Git commit"),
            Column("created", "Last made"),
        ),
        tuple(rows),
    )


def packages_table(source: Source) -> Table:
    """One row a package: every version that took part."""
    found: dict[str, set[str]] = {}
    for partition in (partition for partitions in source.partitions.values() for partition in partitions):
        packages = partition.manifest.get("packages")
        entries = dict(packages) if isinstance(packages, dict) else {}
        if partition.manifest.get("python"):
            entries["python"] = partition.manifest["python"]
        for name, version in entries.items():
            found.setdefault(str(name), set()).add(str(version))
    return Table(
        "packages",
        "Versions of the packages that took part. More than one version means that parts of the lake were made at "
        "different times.",
        (Column("package", "Package"), Column("version", "Version")),
        tuple((name, ", ".join(sorted(versions))) for name, versions in sorted(found.items())),
        if_empty="The manifests name no packages.",
    )


def _names(source: Source, key: str) -> list[str]:
    """Distinct values of one column of the candidates, or of the pairs where no candidates were kept."""
    for table in ("candidates", "pairs"):
        values = {value for _, rows in source.parts(table, [key]) for value in rows[key].unique().to_pylist()}
        if values:
            return sorted(portable(str(value)) for value in values if value)
    return []


def models_table(source: Source) -> Table:
    """One row a model that took part, with what its manifest says of it."""
    rows: list[tuple[Value, ...]] = []
    unknown = Missing("not in the lake")
    for key, role in (("generator", "writes questions"), ("validator", "judges questions")):
        names = ", ".join(_names(source, key)) or unknown
        rows.append((names, role, "; ".join(_names(source, "prompt_version")) or unknown))
    for model in source.models:
        details = [_card_text(partition) for partition in source.find("vectors", model=model)]
        rows.append((model, "embeds chunks and questions", next((text for text in details if text), unknown)))
    return Table(
        "models",
        "Models of the run. For language models the detail is the version of the prompts; for encoders it is their "
        "card.",
        (Column("model", "Model"), Column("role", "What it does"), Column("detail", "Detail")),
        tuple(rows),
    )


def _card_text(partition: Partition) -> str:
    """Return the settings of an encoder on one line, for example `max_tokens 256, pooling mean`."""
    found = settings(partition)
    card = found.get("card") if isinstance(found.get("card"), dict) else {}
    entries: dict[str, Any] = {**(card or {}), **{key: value for key, value in found.items() if key == "revision"}}
    shown = [(key, value) for key, value in sorted(entries.items()) if isinstance(value, str | int | float)]
    return portable(", ".join(f"{key} {value!r}" if value == "" else f"{key} {value}" for key, value in shown))


def settings_list(source: Source) -> list[Settings]:
    """Return the distinct settings of each table, as JSON."""
    found: dict[tuple[str, str], list[str]] = {}
    for table in STAGES:
        for partition in source.partitions[table]:
            text = json.dumps(settings(partition), indent=2, sort_keys=True, ensure_ascii=False)
            if settings(partition):
                found.setdefault((table, portable(text)), []).append(partition.path)
    return [Settings(table, len(paths), paths[0], text) for (table, text), paths in found.items()]


def demo_models(source: Source) -> list[str]:
    """Return the names of models that are too weak for their output to measure anything."""
    names = {*_names(source, "generator"), *_names(source, "validator"), *source.models}
    return sorted(name for name in names if any(mark in name.lower() for mark in DEMO_MODELS))
