"""One row a corpus and size: every number worked by hand."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from teleembed_ray import schemas
from teleembed_ray.audit.audits import audits_table, bin_counts
from teleembed_ray.audit.sketches import sketches_table

WINDOW = (50, 150)


def sketches_of(rows: list[tuple[str, str, int, str]]) -> pa.Table:
    """(chunk_id, doc_id, tokens, text) -> sketches at a chunk size of 100."""
    chunks = [
        {"chunk_id": chunk, "doc_id": document, "corpus": "core", "chunk_size": 100, "num_tokens": n, "text": text}
        for chunk, document, n, text in rows
    ]
    schema = pa.schema([field for field in schemas.CHUNKS if field.name not in ("position", "start", "end")])
    return sketches_table(pa.Table.from_pylist(chunks, schema=schema), 5)


def rejects_of(rows: list[tuple[str, int | None]]) -> pa.Table:
    found = [
        {"id": "x", "stage": "chunk", "corpus": "core", "reason": reason, "detail": "", "num_tokens": n}
        for reason, n in rows
    ]
    return pa.Table.from_pylist(found, schema=schemas.REJECTS)


def twins_of(rows: list[tuple[str, str, str, str]]) -> pa.Table:
    """(kind, group, chunk_id, doc_id) -> twins."""
    found = [
        {"kind": kind, "twin_group": group, "chunk_id": chunk, "doc_id": document, "corpus": "core", "chunk_size": 100}
        for kind, group, chunk, document in rows
    ]
    return pa.Table.from_pylist(found, schema=schemas.TWINS)


def summed(sketches: pa.Table, twins: pa.Table, rejects: pa.Table) -> dict[str, Any]:
    [row] = audits_table(sketches, twins, rejects, "core", 100, WINDOW).to_pylist()
    return dict(row)


def test_a_length_on_an_edge_lies_in_the_bin_above_it_and_twice_the_size_in_the_last() -> None:
    counts = bin_counts(np.array([0, 9, 10, 49, 50, 100, 199, 200, 5000]), 100)
    assert {place: count for place, count in enumerate(counts) if count} == {
        0: 2,
        1: 1,
        4: 1,
        5: 1,
        10: 1,
        19: 1,
        20: 2,
    }
    # The first edge is at 1.6 tokens: one lies below it, two above.
    assert bin_counts(np.array([1, 2]), 16)[:3] == [1, 1, 0]


def test_discarded_chunks_count_in_bins_and_shares_and_not_in_the_lengths() -> None:
    sketches = sketches_of([("a", "d1", 60, "x"), ("b", "d1", 80, "y"), ("c", "d2", 100, "z")])
    rejects = rejects_of([("outside_window", 7), ("outside_window", 49), ("outside_window", 151), ("no_chunk", None)])
    row = summed(sketches, twins_of([]), rejects)
    assert (row["num_chunks"], row["num_too_small"], row["num_too_large"]) == (3, 2, 1)
    assert (row["num_chunked_documents"], row["num_chunkless_documents"]) == (2, 1)
    assert (row["num_tokens"], row["num_discarded_tokens"]) == (240, 207)
    # Between 80 and 100, nine tenths of the way: 0.95 * 2 = 1.9.
    assert (row["mean_tokens"], row["median_tokens"], row["p95_tokens"]) == pytest.approx((80.0, 80.0, 98.0))
    assert [i for i, count in enumerate(row["kept_bins"]) if count] == [6, 8, 10]
    assert [i for i, count in enumerate(row["discarded_bins"]) if count] == [0, 4, 15]


def test_digits_and_symbols_are_counted_apart_from_letters_and_white_space() -> None:
    row = summed(sketches_of([("a", "d1", 60, "t_3GPP (r18)\n\u00e4 +-")]), twins_of([]), rejects_of([]))
    # 17 characters; digits 3, 1, 8; symbols _ ( ) + -
    assert (row["num_chars"], row["num_digits"], row["num_symbols"]) == (17, 3, 5)


def test_twins_are_counted_within_and_across_documents() -> None:
    # One group of three: two in d1 and one in d2; one group of two in d3.
    twins = twins_of(
        [
            ("near", "a", "a", "d1"),
            ("near", "a", "b", "d1"),
            ("near", "a", "c", "d2"),
            ("near", "e", "e", "d3"),
            ("near", "e", "f", "d3"),
            ("identical", "e", "e", "d3"),
            ("identical", "e", "f", "d3"),
        ]
    )
    row = summed(sketches_of([("a", "d1", 60, "x")]), twins, rejects_of([]))
    assert (row["near_chunks"], row["near_groups"]) == (5, 2)
    assert (row["near_own_document"], row["near_other_document"]) == (4, 3)
    assert (row["identical_chunks"], row["identical_groups"]) == (2, 1)
    assert (row["identical_own_document"], row["identical_other_document"]) == (2, 0)


def test_repeated_texts_come_by_count_and_then_by_id_and_are_ten_at_most() -> None:
    rows = [(f"{letter}{copy}", f"d{copy % 2}", 60, f"text {letter}") for letter in "mlkjihgfedcb" for copy in range(2)]
    rows += [
        ("z0", "d0", 60, "a  word"),
        ("z1", "d0", 60, "a word"),
        ("z2", "d0", 60, "a\nword"),
        ("y", "d9", 60, "one"),
    ]
    row = summed(sketches_of(rows), twins_of([]), rejects_of([]))
    first, second, *rest = row["repeated"]
    assert first == {"chunk_id": "z0", "num_chunks": 3, "num_documents": 1, "excerpt": "a word"}
    assert second == {"chunk_id": "b0", "num_chunks": 2, "num_documents": 2, "excerpt": "text b"}
    assert [entry["chunk_id"] for entry in rest] == ["c0", "d0", "e0", "f0", "g0", "h0", "i0", "j0"]
    # Twelve texts in two chunks each; the three that differ in white space are not the same to the letter.
    assert row["same_text_chunks"] == 24


def test_a_cell_without_chunks_has_a_row_without_lengths() -> None:
    row = summed(schemas.SKETCHES.empty_table(), twins_of([]), rejects_of([("no_chunk", None), ("outside_window", 3)]))
    assert (row["num_chunks"], row["num_too_small"], row["num_chunkless_documents"]) == (0, 1, 1)
    assert row["mean_tokens"] is row["median_tokens"] is row["p95_tokens"] is None
    assert sum(row["kept_bins"]) == 0
    assert row["repeated"] == []
