"""What a report reads: the published partitions of a lake, in parts and only the columns that are needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from teleembed_ray.errors import ArtifactError
from teleembed_ray.lake import Lake, Partition

# The tables that the page is made of, with the stage that makes each.
STAGES = {
    "documents": "ingest",
    "chunks": "chunk",
    "candidates": "pairs",
    "pairs": "pairs",
    "vectors": "embed",
    "rankings": "retrieve",
    "twins": "audit",
    "audits": "audit",
    "languages": "audit",
    "scores": "evaluate",
}
TABLES = (*STAGES, "rejects")
DEFAULT_CONFIDENCE = 0.95


def absent(table: str) -> str:
    """Return why a table's values are missing: which stage to run."""
    return f"no {table} in the lake: run with --from {STAGES[table]}"


@dataclass(frozen=True)
class Source:
    """A lake and its published partitions by table, listed once."""

    lake: Lake
    partitions: dict[str, list[Partition]]

    def find(self, table: str, /, **keys: str | int) -> list[Partition]:
        """Return the partitions of a table that match these keys."""
        wanted = {key: str(value) for key, value in keys.items()}
        return [
            partition
            for partition in self.partitions[table]
            if all(partition.keys.get(key) == value for key, value in wanted.items())
        ]

    def parts(self, table: str, columns: list[str], /, **keys: str | int) -> Iterator[tuple[Partition, pa.Table]]:
        """Yield these columns part by part, so that memory does not grow with the table."""
        for partition in self.find(table, **keys):
            for file in partition.files:
                if file.name.endswith(".parquet") and file.num_rows:
                    yield partition, self.lake.read_part(partition, file.name, columns)

    def num_rows(self, table: str, /, **keys: str | int) -> int:
        """Rows of the matching partitions, from their manifests."""
        return sum(partition.num_rows for partition in self.find(table, **keys))

    def _values(self, key: str) -> set[str]:
        found = (partition.keys.get(key) for partitions in self.partitions.values() for partition in partitions)
        return {value for value in found if value}

    @cached_property
    def corpora(self) -> tuple[str, ...]:
        """Names of the corpora, in alphabetical order."""
        return tuple(sorted(self._values("corpus")))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Chunk sizes in tokens, ascending."""
        return tuple(sorted(int(value) for value in self._values("chunk_size")))

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names of the embedding models, in alphabetical order."""
        return tuple(sorted(self._values("model")))

    @cached_property
    def confidence(self) -> float:
        """Confidence level of the scores' intervals, from their manifests."""
        levels = {settings(partition).get("confidence") for partition in self.partitions["scores"]}
        return next((float(level) for level in levels if level), DEFAULT_CONFIDENCE)


def settings(partition: Partition) -> dict[str, Any]:
    """Return the settings in a partition's manifest; empty where it has none."""
    found = partition.manifest.get("settings")
    return found if isinstance(found, dict) else {}


def open_source(lake: Lake) -> Source:
    """Return what the lake holds; raises ArtifactError where it holds nothing to report on."""
    source = Source(lake, {table: lake.partitions(table) for table in TABLES})
    if not any(source.partitions.values()):
        raise ArtifactError(f"the lake {lake.root} holds nothing to report on: run with --from ingest")
    return source
