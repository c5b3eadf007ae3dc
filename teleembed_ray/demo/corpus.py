"""The demo corpora: invented documents in real formats, the same bytes for the same seed, in any number.

`fronthaul` and `core` imitate two families of telecom specifications, half of them or a third in each format; `stack`
imitates a radio code base. Document `index` depends on the seed, the corpus and the index alone, so that a corpus grows
without changing what it has.
"""

import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path, PurePosixPath

from teleembed_ray.demo.code import component_files
from teleembed_ray.demo.prose import build_specification
from teleembed_ray.demo.vocabulary import CORE, FRONTHAUL, Vocabulary
from teleembed_ray.errors import ConfigError

# Raised with every change of the generator that changes a byte.
VERSION = 1
MANIFEST = "corpus.json"
# Names the files that a run is about to write, so that the next one can go on where this one was stopped.
UNFINISHED = "corpus.unfinished.json"
# Below this a pool of processes takes longer to start than it saves.
MIN_POOLED_DOCUMENTS = 32


@dataclass(frozen=True)
class Record:
    """What a manifest says: the generator's version, the seed, the number of documents, and each file."""

    version: int
    seed: int
    num_documents: int
    files: tuple[str, ...]


def _specification_path(words: Vocabulary, formats: tuple[str, ...], index: int) -> str:
    return f"{words.prefix}-TS-{index:06d}.{formats[index % len(formats)]}"


def _specification_paths(words: Vocabulary, formats: tuple[str, ...], _: int, __: str, index: int) -> list[str]:
    return [_specification_path(words, formats, index)]


def _specification_files(
    words: Vocabulary, formats: tuple[str, ...], seed: int, corpus: str, index: int
) -> dict[str, bytes]:
    # The writers are heavy to import, and a folder that is up to date needs none of them.
    from teleembed_ray.demo.formats import WRITERS

    path = _specification_path(words, formats, index)
    return {path: WRITERS[PurePosixPath(path).suffix[1:]](build_specification(words, seed, corpus, index))}


def _component_paths(seed: int, corpus: str, index: int) -> list[str]:
    return list(component_files(seed, corpus, index))


_FRONTHAUL_FORMATS = ("docx", "pdf")
_CORE_FORMATS = ("docx", "pdf", "md")
# Corpus -> (seed, corpus, index) -> the paths of a document's files below the corpus folder, and the files.
PATHS: dict[str, Callable[[int, str, int], list[str]]] = {
    "fronthaul": partial(_specification_paths, FRONTHAUL, _FRONTHAUL_FORMATS),
    "core": partial(_specification_paths, CORE, _CORE_FORMATS),
    "stack": _component_paths,
}
FILES: dict[str, Callable[[int, str, int], dict[str, bytes]]] = {
    "fronthaul": partial(_specification_files, FRONTHAUL, _FRONTHAUL_FORMATS),
    "core": partial(_specification_files, CORE, _CORE_FORMATS),
    "stack": component_files,
}


def _replace_file(target: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    temporary.write_bytes(data)
    os.replace(temporary, target)


def _read_record(path: Path) -> Record | None:
    """Return what a manifest says, or None where there is none; raises ConfigError for one that we did not write."""
    if not path.is_file():
        return None
    try:
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        is_ours = all(PurePosixPath(name).parts[0] in FILES and ".." not in name.split("/") for name in record.files)
    except (ValueError, TypeError, AttributeError, IndexError):
        is_ours = False
    if not is_ours:
        raise ConfigError(f"demo.folder: {str(path)!r} was changed by hand: remove it, or name another folder")
    return record


def _write_record(path: Path, record: Record) -> None:
    _replace_file(path, json.dumps(vars(record), indent=1).encode())


def _write_document(folder: Path, seed: int, document: tuple[str, int]) -> None:
    corpus, index = document
    for path, data in FILES[corpus](seed, corpus, index).items():
        _replace_file(folder / corpus / path, data)


def _write_documents(folder: Path, seed: int, documents: list[tuple[str, int]]) -> None:
    if len(documents) < MIN_POOLED_DOCUMENTS:
        for document in documents:
            _write_document(folder, seed, document)
        return
    # Spawned, since a forked copy of a process that runs threads (torch, Ray) may hang.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for _ in pool.map(partial(_write_document, folder, seed), documents, chunksize=8):
            pass


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files, and the folders that become empty."""
    for name in names:
        target = folder / name
        target.unlink(missing_ok=True)
        if target.parent != folder and target.parent.is_dir() and not any(target.parent.iterdir()):
            target.parent.rmdir()


def write_corpus(folder: Path, num_documents: int, seed: int) -> None:
    """Write `num_documents` documents of each demo corpus below `folder`, and `corpus.json` last.

    A folder that holds them already is left as it is; one with fewer, more or others is brought to what is asked for,
    and only files that its own manifest names are removed or replaced. A run that was stopped is continued. Raises
    ConfigError where the folder holds files and no manifest, or a manifest that was changed by hand.
    """
    manifest, unfinished = folder / MANIFEST, folder / UNFINISHED
    before = _read_record(unfinished) or _read_record(manifest)
    if before is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"demo.folder: {str(folder)!r} holds files that the demo did not write: name a new or an empty folder"
        )
    documents = [(corpus, index) for corpus in PATHS for index in range(num_documents)]
    names = {
        document: [f"{document[0]}/{path}" for path in PATHS[document[0]](seed, *document)] for document in documents
    }
    wanted = Record(VERSION, seed, num_documents, tuple(name for document in documents for name in names[document]))

    is_same_text = before is not None and (before.version, before.seed) == (VERSION, seed)
    known = frozenset(before.files) if before else frozenset()
    kept = known.intersection(wanted.files) if is_same_text else frozenset[str]()
    missing = [
        document
        for document in documents
        if not all(name in kept and (folder / name).is_file() for name in names[document])
    ]
    if not missing and known == kept == frozenset(wanted.files) and not unfinished.exists():
        return
    _remove(folder, known - kept)
    _write_record(unfinished, wanted)
    manifest.unlink(missing_ok=True)
    _write_documents(folder, seed, missing)
    _write_record(manifest, wanted)
    unfinished.unlink()
