"""Tables in a folder, on a local disk or on S3.

    <lake>/<table>/<key>=<value>/.../part-00000.parquet   rows
    <lake>/<table>/<key>=<value>/.../_manifest.json       written last: without it the partition does not exist
    <lake>/_parts/<fingerprint>/part-00000.parquet        parts of a partition that is being computed

A part file appears whole or not at all, so a crash costs the parts that were in flight and nothing else. Publishing
moves the parts of one fingerprint to their partition: a rename on a local disk; on S3, copies and then a single PUT of
the manifest. A partition that is being recomputed stays readable until its successor is complete.
"""

import hashlib
import io
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from teleembed_ray.errors import ArtifactError, ConfigError

MANIFEST = "_manifest.json"
MARKER = "_lake.json"
PARTS = "_parts"

# Partition keys of each table, outermost first.
PARTITION_KEYS: dict[str, tuple[str, ...]] = {
    "documents": ("corpus",),
    "chunks": ("corpus", "chunk_size"),
    "candidates": ("corpus", "chunk_size"),
    "pairs": ("corpus", "chunk_size"),
    "vectors": ("model", "kind", "corpus", "chunk_size"),
    "shards": ("model", "corpus", "chunk_size"),
    "hits": ("model", "corpus", "chunk_size"),
    "rankings": ("model", "corpus", "chunk_size", "strategy"),
    "languages": ("corpus",),
    "sketches": ("corpus", "chunk_size"),
    "twins": ("corpus", "chunk_size"),
    "audits": ("corpus", "chunk_size"),
    "scores": ("model", "chunk_size"),
    "rejects": ("stage", "corpus", "chunk_size", "model", "kind"),
    "reports": (),
}

Keys = Mapping[str, str | int]


def part_name(index: int, suffix: str = "parquet") -> str:
    """Name of a part's file; `suffix` tells what it holds (parquet rows, or a faiss index beside them)."""
    return f"part-{index:05d}.{suffix}"


def partition_path(table: str, keys: Keys) -> str:
    """Path of a partition below the lake, keys in the table's order; a key that a partition lacks is left out."""
    order = PARTITION_KEYS[table]
    unknown = sorted(set(keys) - set(order))
    if unknown:
        raise ValueError(f"table {table} has no partition key {unknown}; it has {order}")
    return "/".join([table, *(f"{key}={keys[key]}" for key in order if key in keys)])


@dataclass(frozen=True)
class File:
    """One file of a partition: its name, rows (0 for an index), bytes and sha256."""

    name: str
    num_rows: int
    num_bytes: int
    sha256: str


@dataclass(frozen=True)
class Partition:
    """A published partition: where it is and what its manifest says."""

    table: str
    path: str
    manifest: dict[str, Any]

    @property
    def keys(self) -> dict[str, str]:
        """Partition keys and values, as strings."""
        return dict(piece.split("=", 1) for piece in self.path.split("/")[1:])

    @property
    def num_rows(self) -> int:
        """Rows over all parts."""
        return int(self.manifest["num_rows"])

    @property
    def files(self) -> list[File]:
        """Files in part order."""
        return [File(**entry) for entry in self.manifest["files"]]


@dataclass(frozen=True)
class Lake:
    """The tables below `root`, an absolute local folder or an fsspec URL. Cheap to pickle: workers get a copy.

    With `current`, partition paths and fingerprints, all other partitions are invisible.
    """

    root: str
    current: Mapping[str, str] | None = None

    @cached_property
    def _fs(self) -> fsspec.AbstractFileSystem:
        try:
            # A listing may be stale as soon as another process writes, so none is kept.
            options = {"use_listings_cache": False} if "://" in self.root else {"auto_mkdir": True}
            return fsspec.core.url_to_fs(self.root, **options)[0]
        except (ImportError, ValueError) as error:
            raise ConfigError(f"lake: {self.root!r} cannot be opened: {error}") from None

    @cached_property
    def _base(self) -> str:
        return str(fsspec.core.url_to_fs(self.root)[1]).rstrip("/")

    @cached_property
    def _is_local(self) -> bool:
        return "://" not in self.root or self.root.startswith("file://")

    def __getstate__(self) -> dict[str, Any]:
        return {"root": self.root, "current": self.current}

    def restricted_to(self, current: Mapping[str, str]) -> "Lake":
        """Return a view that shows the partitions of one benchmark only, and nothing that is left of another."""
        return Lake(self.root, dict(current))

    def _is_current(self, path: str, manifest: dict[str, Any]) -> bool:
        return self.current is None or self.current.get(path) == manifest["fingerprint"]

    def _full(self, path: str) -> str:
        return f"{self._base}/{path}"

    def check_usable(self) -> None:
        """Raise ConfigError where the lake can neither be there nor be made."""
        try:
            self.exists(MARKER)
            if self._is_local:
                there = next(path for path in (Path(self._base), *Path(self._base).parents) if path.exists())
                if not there.is_dir():
                    raise NotADirectoryError(f"{there} is a file")
        except ConfigError:
            raise
        except Exception as error:
            # Object stores raise errors of their own (no credentials, no such bucket, no connection).
            raise ConfigError(f"lake: {self.root!r} cannot be used: {type(error).__name__}: {error}") from None

    def create(self) -> None:
        """Make the lake's folder and its marker; raises ConfigError where that is not possible."""
        self.check_usable()
        try:
            if not self.exists(MARKER):
                self.write_bytes(MARKER, json.dumps({"format": 1}).encode())
        except Exception as error:
            raise ConfigError(f"lake: {self.root!r} cannot be written: {type(error).__name__}: {error}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second run of this machine out; raises ArtifactError at once where one is under way.

        The operating system drops the lock of a killed run. An object store has no such lock: there nothing is checked.
        """
        if not self._is_local:
            yield
            return
        lock = FileLock(self._full("_lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise ArtifactError(f"another run is using the lake {self.root}: wait for it, or stop it") from None
        try:
            yield
        finally:
            lock.release()

    def check_visible(self) -> None:
        """Raise ArtifactError where this machine does not see the lake that the driver made."""
        if not self.exists(MARKER):
            raise ArtifactError(
                f"the lake {self.root} is not visible on node {os.uname().nodename}: "
                "on a cluster of several machines use s3:// or a folder that all of them mount"
            )

    def exists(self, path: str) -> bool:
        """Whether a file exists, asked anew each time."""
        return bool(self._fs.exists(self._full(path)))

    def read_bytes(self, path: str) -> bytes:
        """Content of one file; raises FileNotFoundError."""
        return bytes(self._fs.cat_file(self._full(path)))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write one file so that a reader sees all of it or nothing."""
        if not self._is_local:
            self._fs.pipe_file(self._full(path), data)
            return
        target = Path(self._full(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            temporary.write_bytes(data)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def list_names(self, path: str) -> dict[str, int]:
        """Names and sizes of the files in one folder; empty where there is no such folder."""
        try:
            entries = self._fs.ls(self._full(path), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        names = {
            PurePosixPath(entry["name"]).name: int(entry["size"] or 0) for entry in entries if entry["type"] == "file"
        }
        return {name: size for name, size in names.items() if not name.startswith(".")}

    # -- partitions ------------------------------------------------------------------------------------------------

    def partition(self, table: str, keys: Keys) -> Partition | None:
        """Return a published partition, or None where there is none."""
        path = partition_path(table, keys)
        try:
            manifest = self._read_manifest(path)
        except FileNotFoundError:
            return None
        return Partition(table, path, manifest) if self._is_current(path, manifest) else None

    def _read_manifest(self, path: str) -> dict[str, Any]:
        """Return the manifest of a partition; one that says less than it must is as good as none."""
        try:
            manifest = json.loads(self.read_bytes(f"{path}/{MANIFEST}"))
            [File(**entry) for entry in manifest["files"]]
            if not isinstance(manifest["fingerprint"], str) or not isinstance(manifest["num_rows"], int):
                raise TypeError("fingerprint or num_rows")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ArtifactError(f"{path}/{MANIFEST} is damaged: delete the folder {path} and run again") from None
        return dict(manifest)

    def partitions(self, table: str, keys: Keys | None = None) -> list[Partition]:
        """Return all published partitions of a table that match `keys`, in path order."""
        wanted = {key: str(value) for key, value in (keys or {}).items()}
        manifests = self._fs.find(self._full(table), maxdepth=len(PARTITION_KEYS[table]) + 1)
        found = []
        for name in sorted(str(name) for name in manifests if str(name).endswith(f"/{MANIFEST}")):
            path = name[name.rindex(f"{self._base}/") + len(self._base) + 1 :].removesuffix(f"/{MANIFEST}")
            pieces = dict(piece.split("=", 1) for piece in path.split("/")[1:])
            if all(pieces.get(key) == value for key, value in wanted.items()):
                manifest = self._read_manifest(path)
                if self._is_current(path, manifest):
                    found.append(Partition(table, path, manifest))
        return found

    def is_whole(self, partition: Partition) -> bool:
        """Whether every file that the manifest names is there with its size."""
        present = self.list_names(partition.path)
        return all(present.get(file.name) == file.num_bytes for file in partition.files)

    def require(self, table: str, keys: Keys, stage: str) -> Partition:
        """Return a published partition or raise ArtifactError that names the stage to run."""
        partition = self.partition(table, keys)
        if partition is None:
            raise ArtifactError(
                f"{partition_path(table, keys)} is not in the lake {self.root}: run with --from {stage}"
            )
        return partition

    def read(self, partition: Partition, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows of a partition, parts in order."""
        tables = [
            self.read_part(partition, file.name, columns) for file in partition.files if file.name.endswith(".parquet")
        ]
        return pa.concat_tables(tables)

    def read_part(self, partition: Partition, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of one part file; raises ArtifactError where it is missing or not what was published."""
        path = f"{partition.path}/{name}"
        try:
            data = self.read_bytes(path)
        except FileNotFoundError:
            raise ArtifactError(f"{path} is missing from the lake {self.root}: run again to rebuild it") from None
        wanted = next(file.sha256 for file in partition.files if file.name == name)
        if hashlib.sha256(data).hexdigest() != wanted:
            raise ArtifactError(f"{path} is damaged, it is not what was written: delete its folder and run again")
        return pq.ParquetFile(pa.BufferReader(data)).read(columns=columns)

    def read_parquet(self, path: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of one Parquet file of the lake; raises ArtifactError where it is missing or damaged."""
        try:
            # A ParquetFile reads this file alone: no partition columns are guessed from the path.
            with self._fs.open(self._full(path), "rb") as file:
                return pq.ParquetFile(file).read(columns=columns)
        except FileNotFoundError:
            raise ArtifactError(
                f"{path} is missing from the lake {self.root}: run the same command again to rebuild it"
            ) from None
        except (pa.ArrowException, OSError) as error:
            # Arrow reports bytes that are no Parquet as an OSError.
            reason = str(error).splitlines()[0]
            raise ArtifactError(f"{path} is damaged ({reason}): delete its folder and run again") from None

    def read_all(self, table: str, keys: Keys | None = None, columns: Sequence[str] | None = None) -> pa.Table | None:
        """Return the rows of all matching partitions, or None where there is none."""
        tables = [self.read(partition, columns) for partition in self.partitions(table, keys)]
        return pa.concat_tables(tables) if tables else None

    # -- parts under way -------------------------------------------------------------------------------------------

    def parts_done(self, fingerprint: str) -> dict[int, list[File]]:
        """Return the files of each finished part of a fingerprint that is under way (sha256 left empty).

        A part is finished when its rows are there; what lies beside them (an index) was written before.
        """
        names = self.list_names(f"{PARTS}/{fingerprint}")
        done: dict[int, list[File]] = {}
        for name, size in sorted(names.items()):
            stem = name.partition(".")[0]
            if stem.startswith("part-") and f"{stem}.parquet" in names:
                done.setdefault(int(stem.removeprefix("part-")), []).append(File(name, -1, size, ""))
        return done

    def write_part(self, fingerprint: str, index: int, rows: pa.Table) -> File:
        """Write the rows of one part; the file appears whole or not at all."""
        buffer = io.BytesIO()
        pq.write_table(rows, buffer, compression="zstd")
        data = buffer.getvalue()
        name = part_name(index)
        self.write_bytes(f"{PARTS}/{fingerprint}/{name}", data)
        return File(name, rows.num_rows, len(data), hashlib.sha256(data).hexdigest())

    def write_part_bytes(self, fingerprint: str, name: str, data: bytes) -> File:
        """Write a file that belongs to a part beside its rows (an index); to be written before the rows."""
        self.write_bytes(f"{PARTS}/{fingerprint}/{name}", data)
        return File(name, 0, len(data), hashlib.sha256(data).hexdigest())

    def read_under_way(self, fingerprint: str, index: int) -> pa.Table:
        """Return the rows of one finished part of a fingerprint that is under way."""
        return self.read_parquet(f"{PARTS}/{fingerprint}/{part_name(index)}")

    def publish(
        self, table: str, keys: Keys, fingerprint: str, manifest: dict[str, Any], files: Iterable[File]
    ) -> Partition:
        """Make the parts of `fingerprint` the partition; the manifest is written last. Safe to repeat after a crash."""
        path = partition_path(table, keys)
        entries = [self._described(fingerprint, file) for file in sorted(files, key=lambda file: file.name)]
        content_hash = hashlib.sha256("".join(entry.sha256 for entry in entries).encode()).hexdigest()
        manifest = {
            "table": table,
            "keys": dict(keys),
            "fingerprint": fingerprint,
            "num_rows": sum(entry.num_rows for entry in entries),
            "content_hash": content_hash,
            "files": [vars(entry) for entry in entries],
            **manifest,
        }
        data = json.dumps(manifest, indent=1, sort_keys=True).encode()
        if self._is_local:
            self._publish_by_rename(path, fingerprint, data, {entry.name for entry in entries})
        else:
            self._publish_by_copy(path, fingerprint, data, entries)
        return Partition(table, path, manifest)

    def _described(self, fingerprint: str, file: File) -> File:
        """Fill in what a resumed run does not know of a part that an earlier one wrote."""
        if file.sha256:
            return file
        data = self.read_bytes(f"{PARTS}/{fingerprint}/{file.name}")
        num_rows = pq.ParquetFile(io.BytesIO(data)).metadata.num_rows if file.name.endswith(".parquet") else 0
        return File(file.name, num_rows, len(data), hashlib.sha256(data).hexdigest())

    def _publish_by_rename(self, path: str, fingerprint: str, manifest: bytes, names: set[str]) -> None:
        source, target = Path(self._full(f"{PARTS}/{fingerprint}")), Path(self._full(path))
        source.mkdir(parents=True, exist_ok=True)
        for stray in source.iterdir():
            if stray.name not in names:
                stray.unlink()
        self.write_bytes(f"{PARTS}/{fingerprint}/{MANIFEST}", manifest)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            retired = Path(self._full(f"{PARTS}/retired-{uuid.uuid4().hex}"))
            target.rename(retired)
            source.rename(target)
            shutil.rmtree(retired, ignore_errors=True)
        else:
            source.rename(target)

    def _publish_by_copy(self, path: str, fingerprint: str, manifest: bytes, entries: Sequence[File]) -> None:
        # Without its manifest the old partition is gone; its successor's parts stay below _parts until the last PUT.
        if self.exists(f"{path}/{MANIFEST}"):
            self._fs.rm_file(self._full(f"{path}/{MANIFEST}"))
        for stray in set(self.list_names(path)) - {entry.name for entry in entries}:
            self._fs.rm_file(self._full(f"{path}/{stray}"))
        for entry in entries:
            self._fs.cp_file(self._full(f"{PARTS}/{fingerprint}/{entry.name}"), self._full(f"{path}/{entry.name}"))
        self.write_bytes(f"{path}/{MANIFEST}", manifest)
        for name in self.list_names(f"{PARTS}/{fingerprint}"):
            self._fs.rm_file(self._full(f"{PARTS}/{fingerprint}/{name}"))
