"""files -> documents: the kernel of the stage `ingest`."""

from typing import Any

import pyarrow as pa

from teleembed_ray import ids, schemas
from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.reader import read_document, suffix_of

SCHEMA = schemas.with_rejects(schemas.DOCUMENTS)


def _document_row(corpus: str, path: str, data: bytes | None, problem: str | None) -> dict[str, Any]:
    row = {"doc_id": ids.doc_id(corpus, path, data or b""), "corpus": corpus, "path": path, "format": suffix_of(path)}
    try:
        if data is None:
            raise Unreadable("unavailable", problem or "there are no bytes of it")
        document = read_document(path, data)
    except Unreadable as error:
        return row | {"reason": error.reason, "detail": f"{path}: {error.detail}"}
    return row | {
        "format": document.format,
        "title": document.title,
        "text": document.text,
        "num_chars": len(document.text),
        "num_dropped_chars": document.num_dropped_chars,
    }


def documents_table(files: pa.Table) -> pa.Table:
    """files -> documents with `reason` and `detail`, one row a file, in input order.

    `files` has corpus, path (below the corpus folder) and data (large_binary); where data is null, the column `problem`
    (if there is one) says why. A file that gives no text has a reason and null text. `num_chars` counts characters, not
    bytes.
    """
    problems = files["problem"].to_pylist() if "problem" in files.column_names else [None] * files.num_rows
    keys = zip(files["corpus"].to_pylist(), files["path"].to_pylist(), problems, strict=True)
    # One file's bytes at a time: a corpus has files of hundreds of megabytes.
    rows = [
        _document_row(corpus, path, files["data"][index].as_py(), problem)
        for index, (corpus, path, problem) in enumerate(keys)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)
