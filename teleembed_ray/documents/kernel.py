"""files -> documents: the kernel of the stage `ingest`."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from teleembed_ray import ids, schemas
from teleembed_ray.documents import archive
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.reader import read_document, refuse_unsupported, suffix_of

SCHEMA = schemas.with_rejects(schemas.DOCUMENTS)

Read = Callable[[str, bytes], Document]
Selects = Callable[[str], bool]


def _row(corpus: str, path: str, load: Callable[[], bytes], read: Read) -> dict[str, Any]:
    """Return the row of one document; `load` gives its bytes or raises Unreadable."""
    row = {"corpus": corpus, "path": path, "format": suffix_of(path)}
    data = b""
    try:
        if suffix_of(path) != archive.SUFFIX:
            # First, so that what no reader is made for is not inflated either.
            refuse_unsupported(path)
        data = load()
        document = read(path, data)
    except Unreadable as error:
        return row | {
            "doc_id": ids.doc_id(corpus, path, data),
            "reason": error.reason,
            "detail": f"{path}: {error.detail}",
        }
    return row | {
        "doc_id": ids.doc_id(corpus, path, data),
        "format": document.format,
        "title": document.title,
        "text": document.text,
        "num_chars": len(document.text),
        "num_dropped_chars": document.num_dropped_chars,
        "num_unmapped_chars": document.num_unmapped_chars,
    }


def _rows(
    corpus: str, path: str, data: bytes | None, problem: str | None, read: Read, selects: Selects
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file: one, or those of an archive's members."""

    def load() -> bytes:
        if data is None:
            raise Unreadable("unavailable", problem or "there are no bytes of it")
        return data

    if suffix_of(path) != archive.SUFFIX or data is None:
        yield _row(corpus, path, load, read)
        return
    for member in archive.members(path, data, selects):
        yield _row(corpus, member.path, member.read, read)


def documents_table(files: pa.Table, read: Read = read_document, selects: Selects = lambda path: True) -> pa.Table:
    """files -> documents with `reason` and `detail`, in input order: one row a file, and one a member of a ZIP.

    `files` has corpus, path (below the corpus folder) and data (large_binary); where data is null, the column `problem`
    (if there is one) says why. A file that gives no text has a reason and null text. `num_chars` counts characters, not
    bytes. `read` makes a Document of (path, bytes) or raises Unreadable; `selects` says which members are documents, by
    their path (`a.zip/b.docx`).
    """
    problems = files["problem"].to_pylist() if "problem" in files.column_names else [None] * files.num_rows
    keys = zip(files["corpus"].to_pylist(), files["path"].to_pylist(), problems, strict=True)
    # One file's bytes at a time: a corpus has files of hundreds of megabytes.
    rows = [
        row
        for index, (corpus, path, problem) in enumerate(keys)
        for row in _rows(corpus, path, files["data"][index].as_py(), problem, read, selects)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)
