"""What is in a corpus folder: paths, sizes and content digests, with no document read twice for it."""

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import fsspec

from teleembed_ray import globs, ids
from teleembed_ray.config import CorpusConfig
from teleembed_ray.errors import ConfigError
from teleembed_ray.lake import Lake

BLOCK_BYTES = 1 << 20
NOT_REGULAR = "no regular file"


@dataclass(frozen=True)
class SourceFile:
    """One file of a corpus: its path below the corpus folder, its bytes and a digest of its content."""

    path: str
    num_bytes: int
    digest: str


@dataclass(frozen=True)
class Listing:
    """The files of one corpus in path order, and one fingerprint over all of them.

    `unused` names the globs of the corpus that match no file, each with its key: a slip in one is easily overlooked.
    """

    corpus: str
    root: str
    files: tuple[SourceFile, ...]
    fingerprint: str
    unused: tuple[str, ...] = ()


def _unused(paths: Iterable[str], config: CorpusConfig) -> tuple[str, ...]:
    patterns = [("include", pattern) for pattern in config.include] + [("exclude", one) for one in config.exclude]
    return tuple(
        f"{key} {pattern!r}" for key, pattern in patterns if not any(globs.matches(path, pattern) for path in paths)
    )


def open_folder(source: str, corpus: str, config: CorpusConfig) -> tuple[Any, str]:
    """Return the file system and the root of a corpus; raises ConfigError where there is no such folder."""
    where = f"{source}: corpora.{corpus}.path: {config.path!r}"
    try:
        fs, root = fsspec.core.url_to_fs(config.path)
        is_there = fs.isdir(root)
    except Exception as error:
        # Object stores raise errors of their own (no credentials, no such bucket, no connection).
        raise ConfigError(f"{where}: cannot be listed: {type(error).__name__}: {error}") from None
    if not is_there:
        raise ConfigError(f"{where}: there is no such folder")
    return fs, root


def _find(
    source: str, corpus: str, config: CorpusConfig
) -> tuple[Any, str, dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return the file system, the root, the details of each file that the globs select, and the globs without use."""
    where = f"{source}: corpora.{corpus}.path: {config.path!r}"
    fs, root = open_folder(source, corpus, config)
    try:
        found = fs.find(root, detail=True)
    except Exception as error:
        raise ConfigError(f"{where}: cannot be listed: {type(error).__name__}: {error}") from None
    prefix = root.rstrip("/") + "/"
    relative = {str(name).removeprefix(prefix): detail for name, detail in found.items()}
    selected = {
        path: detail for path, detail in relative.items() if globs.selects(path, config.include, config.exclude)
    }
    unused = _unused(relative, config)
    if not selected:
        nothing = f"; nothing there matches {', '.join(unused)}" if unused else ""
        raise ConfigError(
            f"{where}: no file there is selected by include {list(config.include)} and exclude {list(config.exclude)}"
            f"{nothing}"
        )
    return fs, root, selected, unused


def _content_digest(fs: Any, path: str) -> str:
    hasher = hashlib.blake2b(digest_size=ids.ID_BYTES)
    try:
        with fs.open(path, "rb") as file:
            while block := file.read(BLOCK_BYTES):
                hasher.update(block)
    except OSError as error:
        # The ingest stage makes it a reject with its reason; here it only must not stop the listing.
        return f"unreadable: {type(error).__name__}"
    return hasher.hexdigest()


def _known_digests(lake: Lake, path: str) -> dict[str, str]:
    """Return the digests of an earlier listing; they only save time, so a damaged file counts as none."""
    try:
        known = json.loads(lake.read_bytes(path))
    except (FileNotFoundError, ValueError):
        return {}
    return {str(key): str(value) for key, value in known.items()} if isinstance(known, dict) else {}


def list_corpus(source: str, corpus: str, config: CorpusConfig, lake: Lake, remember: bool) -> Listing:
    """Return the listing of one corpus; raises ConfigError, with the file that `source` names, for a bad folder.

    Digests are kept in the lake by (path, size, time of change) where `remember` is set, so that a second run of an
    unchanged folder reads no file. An object store's own ETag serves in place of a digest.
    """
    fs, root, found, unused = _find(source, corpus, config)
    cache_path = f"_listings/{corpus}.json"
    known = _known_digests(lake, cache_path)
    prefix = root.rstrip("/")

    def digest(path: str) -> tuple[str, str]:
        detail = found[path]
        stamp = f"{path}|{detail['size']}|{detail.get('ETag') or detail.get('mtime')}"
        if "ETag" in detail:
            return stamp, str(detail["ETag"])
        if not fs.isfile(f"{prefix}/{path}"):
            # A pipe would wait for ever; a link to a folder, or to nothing, has no bytes.
            return stamp, NOT_REGULAR
        # The time of a link is not that of the file it leads to.
        is_known = not detail.get("islink") and stamp in known
        return stamp, known[stamp] if is_known else _content_digest(fs, f"{prefix}/{path}")

    paths = sorted(found)
    with ThreadPoolExecutor(max_workers=8) as pool:
        digests = list(pool.map(digest, paths))
    if remember:
        lake.write_bytes(cache_path, json.dumps(dict(digests)).encode())
    files = tuple(
        SourceFile(path, int(found[path]["size"]), value) for path, (_, value) in zip(paths, digests, strict=True)
    )
    fingerprint = ids.digest("listing", *(part for file in files for part in (file.path, file.digest)))
    return Listing(corpus, prefix, files, fingerprint, unused)
