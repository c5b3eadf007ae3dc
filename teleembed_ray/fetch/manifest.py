"""manifest.json: what was fetched into a folder, from where, and what it was when it came."""

import datetime
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from teleembed_ray.errors import ArtifactError, ConfigError

NAME = "manifest.json"
LOCK = ".fetch.lock"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileRecord(_Record):
    """One file of the 3GPP archive. `listed` is what the listing said beside it: while it says so, nothing is asked.

    `checked` tells what the file was held against: `crc`, or `size` alone where a zip is packed in a way that Python
    cannot unpack.
    """

    url: str
    spec: str
    release: int
    version: str
    num_bytes: int
    sha256: str
    etag: str | None
    last_modified: str | None
    listed: str
    checked: str
    fetched: str


class TreeRecord(_Record):
    """One tree from git: the commit that `ref` named when it was fetched, and a digest over paths and contents."""

    url: str
    ref: str
    kind: str
    commit: str
    num_files: int
    num_bytes: int
    digest: str
    fetched: str


class FailureRecord(_Record):
    """Something that the last fetch could not get."""

    reason: str
    detail: str


class Manifest(BaseModel):
    """Everything fetched into one folder; paths are relative to it."""

    model_config = ConfigDict(extra="forbid")

    files: dict[str, FileRecord] = Field(default_factory=dict)
    trees: dict[str, TreeRecord] = Field(default_factory=dict)
    failures: dict[str, FailureRecord] = Field(default_factory=dict)


def now() -> str:
    """Return the time, in UTC and to the second, as manifests write it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or all of the new one."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder, an empty one where there is none; raises ArtifactError for a damaged one."""
    path = folder / NAME
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ArtifactError(
            f"{path}: is no manifest of teleembed fetch ({where or 'whole file'}: {first['msg']}): move it away, or "
            "name another folder with --into"
        ) from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder atomically, entries in path order."""
    ordered = Manifest(
        files=dict(sorted(manifest.files.items())),
        trees=dict(sorted(manifest.trees.items())),
        failures=dict(sorted(manifest.failures.items())),
    )
    write_atomically(folder / NAME, ordered.model_dump_json(indent=1) + "\n")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder and keep every other fetch out of it; raises ConfigError where that cannot be.

    The operating system drops the lock of a killed process.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--into {folder}: cannot be made a folder: {error.strerror}") from None
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"--into {folder}: another `teleembed fetch` works in there: wait for it to end") from None
    try:
        yield
    finally:
        lock.release()
