"""documents -> chunks: the window, the ids and the rows of documents that give nothing."""

import pyarrow as pa
import pytest

from teleembed_ray import ids, schemas
from teleembed_ray.chunking.kernel import chunk_table, size_window
from teleembed_ray.chunking.tokens import count_tokens

SEPARATORS = ("\n\n", "\n", ". ", " ", "")


def documents(*texts: str | None) -> pa.Table:
    rows = [{"doc_id": f"doc-{i}", "corpus": "oran", "path": f"{i}.txt", "text": text} for i, text in enumerate(texts)]
    return pa.Table.from_pylist(rows, schema=schemas.DOCUMENTS)


# " word" and "word" count one token each, "\n\n" one more.
def words(num_words: int) -> str:
    return " ".join(["word"] * num_words)


def test_the_window_takes_in_both_of_its_ends_and_names_itself() -> None:
    table = chunk_table(documents(*map(words, (9, 10, 30, 31))), 40, 0, 0.25, 0.75, SEPARATORS)
    assert table.schema == schemas.with_rejects(schemas.CHUNKS)
    rows = [row for row in table.to_pylist() if row["reason"] != "no_chunk"]
    assert [row["num_tokens"] for row in rows] == [9, 10, 30, 31]
    assert [row["reason"] for row in rows] == ["outside_window", None, None, "outside_window"]
    assert [row["detail"] for row in rows] == [
        "9 tokens; the window is 10 to 30",
        None,
        None,
        "31 tokens; the window is 10 to 30",
    ]
    assert [row["text"] for row in rows] == [None, words(10), words(30), None]


def test_positions_number_all_chunks_of_a_document_and_only_its_own() -> None:
    # A tail of 5 words is too short to keep; the next document starts again.
    table = chunk_table(documents(words(45), words(40)), 20, 0, 0.5, 1.5, SEPARATORS)
    found = [(row["doc_id"], row["position"], row["num_tokens"], row["reason"]) for row in table.to_pylist()]
    assert found == [
        ("doc-0", 0, 20, None),
        ("doc-0", 1, 20, None),
        ("doc-0", 2, 5, "outside_window"),
        ("doc-1", 0, 20, None),
        ("doc-1", 1, 20, None),
    ]


def test_the_window_is_not_moved_by_binary_fractions() -> None:
    # 0.55 * 100 is 55.00000000000001 and 1.1 * 30 is 33.00000000000000 or more in binary.
    assert size_window(100, 0.55, 1.1) == (55, 110)
    assert size_window(512, 0.5, 1.5) == (256, 768)
    assert size_window(511, 0.5, 1.5) == (256, 766)


def test_a_kept_chunk_is_the_slice_it_says_and_its_id_repeats() -> None:
    text = "\n\n".join(f"Paragraph {i} says what the network function shall do." for i in range(12))
    table = chunk_table(documents(text), 30, 10, 0.5, 1.5, SEPARATORS)
    assert table.equals(chunk_table(documents(text), 30, 10, 0.5, 1.5, SEPARATORS))
    kept = [row for row in table.to_pylist() if row["reason"] is None]
    assert len(kept) > 5
    for row in kept:
        assert row["text"] == text[row["start"] : row["end"]]
        assert row["num_tokens"] == count_tokens(row["text"])
        assert row["chunk_id"] == ids.chunk_id("doc-0", 30, row["start"], row["text"])
        assert (row["doc_id"], row["corpus"], row["chunk_size"]) == ("doc-0", "oran", 30)
    assert len({row["chunk_id"] for row in kept}) == len(kept)


@pytest.mark.parametrize("text", ["", None, " \n\n\t ", "too short"])
def test_a_document_that_gives_nothing_has_a_row_that_says_so(text: str | None) -> None:
    rows = chunk_table(documents(text), 20, 0, 0.5, 1.5, SEPARATORS).to_pylist()
    assert rows[-1]["reason"] == "no_chunk"
    assert rows[-1]["chunk_id"] == rows[-1]["doc_id"] == "doc-0"
    assert rows[-1]["corpus"] == "oran"
    assert all(row["text"] is None and row["detail"] for row in rows)
    assert [row["reason"] for row in rows[:-1]] == (["outside_window"] if text == "too short" else [])


def test_no_document_of_a_batch_vanishes_and_order_is_kept() -> None:
    # A table of several record batches, as a Dataset's blocks come.
    table = pa.concat_tables([documents(words(20), ""), documents(), documents(words(15))])
    rows = chunk_table(table, 20, 0, 0.5, 1.5, SEPARATORS).to_pylist()
    assert [(row["doc_id"], row["reason"]) for row in rows] == [("doc-0", None), ("doc-1", "no_chunk"), ("doc-0", None)]
    assert chunk_table(documents(), 20, 0, 0.5, 1.5, SEPARATORS).num_rows == 0


def test_a_span_that_the_splitter_repeats_is_one_row() -> None:
    # Each "\n" is a piece of one token: the runs before and after "a" both strip to it.
    text = "\n" * 6 + "a" + "\n" * 20
    table = chunk_table(documents(text), 8, 4, 0.0, 1.5, ("\n", ""))
    assert table["text"].to_pylist() == ["a"]


def test_a_special_token_in_a_document_is_ordinary_text() -> None:
    text = words(12) + " <|endoftext|>"
    (row,) = chunk_table(documents(text), 20, 0, 0.5, 1.5, SEPARATORS).to_pylist()
    assert row["text"] == text
    assert row["num_tokens"] == 12 + count_tokens(" <|endoftext|>") > 13
