"""documents -> chunks: split, count, and keep what lies in the size window."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from teleembed_ray import ids, schemas
from teleembed_ray.chunking.separators import Keep
from teleembed_ray.chunking.splitter import split_text

SCHEMA = schemas.with_rejects(schemas.CHUNKS)


def size_window(chunk_size: int, min_fraction: float, max_fraction: float) -> tuple[int, int]:
    """Return the fewest and the most tokens of a kept chunk (TeleEmbedBench: 50 % to 150 % of the target size)."""
    # Decimal arithmetic: 0.55 * 100 is 55.00000000000001 in binary and would turn away a chunk of 55 tokens.
    low = Fraction(str(min_fraction)) * chunk_size
    high = Fraction(str(max_fraction)) * chunk_size
    return math.ceil(low), math.floor(high)


def chunk_table(
    documents: pa.Table,
    chunk_size: int,
    overlap: int,
    min_fraction: float,
    max_fraction: float,
    separators: Sequence[str],
    keep: Keep = "start",
) -> pa.Table:
    """documents -> chunks with `reason` and `detail`, one row a chunk, in document order.

    A chunk outside the window has the reason "outside_window" and no text. A document of which no chunk is kept has one
    further row, "no_chunk", with its doc_id as chunk_id: no document vanishes. `position` numbers the chunks of a
    document from 0, kept or not; `start` and `end` count characters of the document's text; `num_tokens` counts the
    chunk as it is stored. Raises ValueError as `split_text` does.
    """
    low, high = size_window(chunk_size, min_fraction, max_fraction)

    def rows(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
        text = document["text"] or ""
        keys = {"doc_id": document["doc_id"], "corpus": document["corpus"], "chunk_size": chunk_size}
        spans = split_text(text, chunk_size, overlap, separators, keep)
        num_kept = 0
        for position, span in enumerate(spans):
            chunk = text[span.start : span.end]
            row = keys | {
                "chunk_id": ids.chunk_id(document["doc_id"], chunk_size, span.start, chunk),
                "position": position,
                "start": span.start,
                "end": span.end,
                "num_tokens": span.num_tokens,
            }
            if low <= span.num_tokens <= high:
                num_kept += 1
                yield row | {"text": chunk}
            else:
                detail = f"{span.num_tokens} tokens; the window is {low} to {high}"
                yield row | {"reason": "outside_window", "detail": detail}
        if not num_kept:
            detail = f"none of {len(spans)} chunks has {low} to {high} tokens" if spans else "there is no text"
            yield keys | {"chunk_id": document["doc_id"], "reason": "no_chunk", "detail": detail}

    needed = documents.select(["doc_id", "corpus", "text"])
    return pa.Table.from_pylist(
        [row for batch in needed.to_batches() for document in batch.to_pylist() for row in rows(document)],
        schema=SCHEMA,
    )
