"""sketches, twins and discarded chunks -> audits: what a corpus is made of at one chunk size, in one row."""

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray import schemas

NUM_REPEATED = 10
# Bins are tenths of the target size; the last one holds everything from twice the target on.
BINS_PER_SIZE = 10
NUM_BINS = 21
KINDS = ("identical", "near")


def bin_counts(num_tokens: npt.NDArray[np.int64], chunk_size: int) -> list[int]:
    """Count lengths by tenths of the target size; a bin holds its lower edge and not its upper."""
    # Integer arithmetic: a chunk of exactly half the target lies in the bin that starts there.
    bins = np.minimum(num_tokens * BINS_PER_SIZE // chunk_size, NUM_BINS - 1)
    return [int(count) for count in np.bincount(bins, minlength=NUM_BINS)]


def _lengths(num_tokens: npt.NDArray[np.int64]) -> dict[str, float | None]:
    if not len(num_tokens):
        return {"mean_tokens": None, "median_tokens": None, "p95_tokens": None}
    return {
        "mean_tokens": float(num_tokens.mean()),
        "median_tokens": float(np.median(num_tokens)),
        "p95_tokens": float(np.quantile(num_tokens, 0.95)),
    }


def _twin_facts(twins: pa.Table, kind: str) -> dict[str, int]:
    """Chunks and groups of one kind, and how many chunks have their twin in their own or in another document."""
    of_kind = twins.filter(pc.equal(twins["kind"], kind))
    documents: dict[str, list[str]] = defaultdict(list)
    for group, document in zip(of_kind["twin_group"].to_pylist(), of_kind["doc_id"].to_pylist(), strict=True):
        documents[group].append(document)
    own = other = 0
    for found in documents.values():
        sizes = [found.count(document) for document in set(found)]
        own += sum(size for size in sizes if size > 1)
        other += len(found) if len(sizes) > 1 else 0
    return {
        f"{kind}_chunks": of_kind.num_rows,
        f"{kind}_groups": len(documents),
        f"{kind}_own_document": own,
        f"{kind}_other_document": other,
    }


def _repeated(sketches: pa.Table) -> list[dict[str, Any]]:
    """The texts that stand in the most chunks, white space folded: at most ten, each more than once."""
    counted = sketches.group_by("folded_hash").aggregate(
        [("chunk_id", "count"), ("doc_id", "count_distinct"), ("chunk_id", "min"), ("excerpt", "min")]
    )
    repeated = counted.filter(pc.greater(counted["chunk_id_count"], 1))
    order = [("chunk_id_count", "descending"), ("chunk_id_min", "ascending")]
    return [
        {
            "chunk_id": row["chunk_id_min"],
            "num_chunks": row["chunk_id_count"],
            "num_documents": row["doc_id_count_distinct"],
            "excerpt": row["excerpt_min"],
        }
        for row in repeated.sort_by(order).slice(0, NUM_REPEATED).to_pylist()
    ]


def _num_same_text(sketches: pa.Table) -> int:
    """Chunks whose text stands in another chunk to the letter, white space included."""
    counts = sketches.group_by("text_hash").aggregate([("chunk_id", "count")])["chunk_id_count"]
    return int(pc.sum(counts.filter(pc.greater(counts, 1))).as_py() or 0)


def audits_table(
    sketches: pa.Table, twins: pa.Table, rejects: pa.Table, corpus: str, chunk_size: int, window: tuple[int, int]
) -> pa.Table:
    """sketches, twins and rejects of one corpus and chunk size -> one row of what they amount to.

    `rejects` are those of the stage `chunk`; `window` is the fewest and the most tokens of a kept chunk. Lengths are
    those of kept chunks; the bins count the discarded ones too.
    """
    low, high = window
    kept_tokens = sketches["num_tokens"].to_numpy().astype(np.int64)
    discarded = rejects.filter(pc.equal(rejects["reason"], "outside_window"))
    discarded_tokens = discarded["num_tokens"].to_numpy().astype(np.int64)
    row = {
        "corpus": corpus,
        "chunk_size": chunk_size,
        "window_low": low,
        "window_high": high,
        "num_chunks": sketches.num_rows,
        "num_too_small": int((discarded_tokens < low).sum()),
        "num_too_large": int((discarded_tokens > high).sum()),
        "num_chunked_documents": len(pc.unique(sketches["doc_id"])),
        "num_chunkless_documents": int(pc.sum(pc.equal(rejects["reason"], "no_chunk")).as_py() or 0),
        "num_tokens": int(kept_tokens.sum()),
        "num_discarded_tokens": int(discarded_tokens.sum()),
        **_lengths(kept_tokens),
        **{name: int(pc.sum(sketches[name]).as_py() or 0) for name in ("num_chars", "num_digits", "num_symbols")},
        "kept_bins": bin_counts(kept_tokens, chunk_size),
        "discarded_bins": bin_counts(discarded_tokens, chunk_size),
        "same_text_chunks": _num_same_text(sketches),
        **{name: value for kind in KINDS for name, value in _twin_facts(twins, kind).items()},
        "repeated": _repeated(sketches),
    }
    return pa.Table.from_pylist([row], schema=schemas.AUDITS)
