"""Spans against LangChain's chunks, and where they lie."""

import random
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter
from lxml import etree

from teleembed_ray.chunking import splitter
from teleembed_ray.chunking.separators import KEEP_SEPARATOR, SEPARATORS, Keep
from teleembed_ray.chunking.splitter import split_text
from teleembed_ray.chunking.tokens import count_tokens

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

# The project's two hierarchies; LangChain's default; one that cannot cut far enough; one that cuts characters only; one
# whose separators overlap themselves; one with something behind the empty separator.
HIERARCHIES = [
    *SEPARATORS.values(),
    ("\n\n", "\n", " ", ""),
    ("\n\n", "\n"),
    ("",),
    ("aa", "a", ""),
    ("\n", "", " "),
]
FRAGMENTS = [
    "a",
    "b",
    "}",
    "\n",
    "\n\n",
    ". ",
    " ",
    ";\n",
    "aa",
    "a. ",
    "\n}\n",
    "\n};\n",
    "word ",
    "\u3000",
    "\u65e5",
    "\t",
]


def texts() -> st.SearchStrategy[str]:
    """Texts of few fragments, some of them repeated as a whole: the offsets of a chunk cannot be found by searching."""
    once = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)
    return st.tuples(once, st.integers(1, 5)).map(lambda pair: pair[0] * pair[1])


def langchain_chunks(text: str, chunk_size: int, overlap: int, separators: tuple[str, ...], keep: Keep) -> list[str]:
    splitter = RecursiveCharacterTextSplitter(
        separators=list(separators),
        chunk_size=chunk_size,
        chunk_overlap=overlap,
        length_function=count_tokens,
        keep_separator=keep,
    )
    return splitter.split_text(text)


def without_beginnings(chunks: list[str]) -> list[str]:
    """Drop each chunk that the next one kept begins with: after long white space LangChain hands out both."""
    kept: list[str] = []
    for chunk in chunks:
        while kept and chunk.startswith(kept[-1]):
            kept.pop()
        kept.append(chunk)
    return kept


@settings(max_examples=600, deadline=None)
@given(texts(), st.integers(4, 40), st.data(), st.sampled_from(HIERARCHIES), st.sampled_from(["start", "end"]))
def test_chunks_lie_where_they_say_and_keep_to_their_size(
    text: str, chunk_size: int, data: st.DataObject, separators: tuple[str, ...], keep: Keep
) -> None:
    overlap = data.draw(st.integers(0, chunk_size - 1))
    spans = split_text(text, chunk_size, overlap, separators, keep)
    assert [span.num_tokens for span in spans] == [count_tokens(text[span.start : span.end]) for span in spans]
    # No single character here counts more than three tokens.
    assert all(span.num_tokens <= chunk_size for span in spans)
    for left, right in pairwise(spans):
        assert left.start < right.start
        assert left.end <= right.end
        # Between two chunks only white space is lost.
        assert not text[left.end : right.start].strip()
    if spans:
        assert not text[: spans[0].start].strip()
        assert not text[spans[-1].end :].strip()
    else:
        assert not text.strip()


@settings(max_examples=600, deadline=None)
@given(texts(), st.integers(1, 40), st.data(), st.sampled_from(HIERARCHIES), st.sampled_from(["start", "end"]))
def test_chunks_equal_langchain_where_those_keep_to_the_size(
    text: str, chunk_size: int, data: st.DataObject, separators: tuple[str, ...], keep: Keep
) -> None:
    overlap = data.draw(st.integers(0, chunk_size - 1))
    # A text that no separator cuts is handed out by LangChain with its outer white space.
    chunks = langchain_chunks(text, chunk_size, overlap, separators, keep)
    assume(all(count_tokens(chunk) <= chunk_size for chunk in chunks))
    expected = [chunk.strip() for chunk in chunks if chunk.strip()]
    spans = split_text(text, chunk_size, overlap, separators, keep)
    assert without_beginnings([text[span.start : span.end] for span in spans]) == without_beginnings(expected)


def random_words(num_words: int) -> str:
    letters = random.Random(7)  # noqa: S311 (a text, no secret)
    return " ".join("".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(num_words))


def test_the_size_holds_where_joined_words_count_more_than_apart() -> None:
    text = random_words(20_000)
    for overlap in (0, 10):
        longest = max(map(count_tokens, langchain_chunks(text, 50, overlap, ("\n", " ", ""), "start")))
        spans = split_text(text, 50, overlap, ("\n", " ", ""))
        # LangChain's own chunks show that the trap is there.
        assert longest > 50 >= max(span.num_tokens for span in spans)
        assert all(not text[left.end : right.start].strip() for left, right in pairwise(spans))
        assert spans[0].start == 0
        assert spans[-1].end == len(text)


def test_the_size_holds_where_no_separator_cuts_far_enough() -> None:
    text = ("word " * 200).strip()
    spans = split_text(text, 10, 0, ("\n\n", "\n"))
    assert max(span.num_tokens for span in spans) <= 10
    assert "".join(text[span.start : span.end] for span in spans).replace(" ", "") == "word" * 200


def test_a_piece_that_counts_more_without_its_leading_space_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # One token a character, and three more for a text that begins with "b".
    monkeypatch.setattr(splitter, "count_tokens", lambda text: len(text) + 3 * text.startswith("b"))
    (span,) = split_text(" bbbb", 6, 0, (" ",))
    assert (span.start, span.end, span.num_tokens) == (0, 5, 5)


def test_default_keep_is_that_of_langchain() -> None:
    text = "One is here. Two is here. Three is here"
    splitter = RecursiveCharacterTextSplitter(
        separators=[". ", ""], chunk_size=6, chunk_overlap=0, length_function=count_tokens
    )
    chunks = [text[span.start : span.end] for span in split_text(text, 6, 0, (". ", ""))]
    assert chunks == splitter.split_text(text) == ["One is here", ". Two is here", ". Three is here"]


def test_a_repeated_sentence_has_distinct_true_offsets() -> None:
    # 8 tokens each; a search from the last start, less an overlap in characters, finds the wrong copy or none.
    sentence = "The gNB shall send the message.\n"
    spans = split_text(sentence * 12, 20, 10, ("\n", ""))
    # Two of the sentences fit, one is repeated.
    assert [span.start for span in spans] == [len(sentence) * i for i in range(11)]
    assert {sentence * 2} == {(sentence * 12)[span.start : span.end] + "\n" for span in spans}


def test_overlap_is_made_of_whole_pieces_only() -> None:
    # Each paragraph counts 6 or 7 tokens with its blank line: an overlap of 5 cannot hold one, one of 10 can.
    text = "The first paragraph is short.\n\nThe second paragraph is short.\n\nThe third paragraph is short."
    lone = split_text(text, 14, 5, ("\n\n", "\n", " ", ""))
    shared = split_text(text, 14, 10, ("\n\n", "\n", " ", ""))
    assert [(span.start, span.end) for span in lone] == [(0, 61), (63, 92)]
    assert [(span.start, span.end) for span in shared] == [(0, 61), (31, 92)]


def test_a_text_no_longer_than_the_overlap_is_one_chunk() -> None:
    text = "Scope. See 3GPP TS 38.331"
    (span,) = split_text(text, 512, 50, SEPARATORS["prose"])
    assert (span.start, span.end) == (0, 25)


def test_a_closing_brace_stays_with_its_function() -> None:
    code = "".join(f"int f{i}(int x)\n{{\n  int y = x + {i};\n\n  return y * y;\n}}\n\n" for i in range(6))
    spans = split_text(code, 40, 0, SEPARATORS["code"], KEEP_SEPARATOR["code"])
    chunks = [code[span.start : span.end] for span in spans]
    assert len(chunks) == 6
    assert all(chunk.startswith("int f") and chunk.endswith("\n}") for chunk in chunks)


def test_an_unbroken_line_costs_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def num_counted_chars(text: str) -> int:
        counted = 0

        def count(piece: str) -> int:
            nonlocal counted
            counted += len(piece)
            return count_tokens(piece)

        monkeypatch.setattr(splitter, "count_tokens", count)
        split_text(text, 512, 50, SEPARATORS["prose"])
        return counted

    # Four times the text; work that grows with its square would be sixteen times.
    assert num_counted_chars("x" * 80_000) < 5 * num_counted_chars("x" * 20_000)


@pytest.mark.parametrize(("chunk_size", "overlap"), [(0, 0), (8, 8), (8, -1)])
def test_sizes_that_make_no_sense_are_refused(chunk_size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        split_text("text", chunk_size, overlap, (" ", ""))


def test_no_separators_are_refused_where_langchain_takes_its_defaults() -> None:
    with pytest.raises(ValueError, match="separators"):
        split_text("text", 8, 0, ())


@pytest.mark.real
@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the real documents are not beside the repository")
@pytest.mark.parametrize("separators", SEPARATORS.values(), ids=SEPARATORS)
def test_real_specifications_are_chunked_as_langchain_does(separators: tuple[str, ...]) -> None:
    word = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    for name in ("3gpp/38215-i10.docx", "oran/O-RAN.WG3.E2TS-R003-v02.00.docx"):
        with zipfile.ZipFile(SHARED_DATA / name) as archive:
            body = etree.fromstring(archive.read("word/document.xml"))
        text = "\n\n".join("".join(t.text or "" for t in p.iter(word + "t")) for p in body.iter(word + "p"))
        assert max(span.num_tokens for span in split_text(text, 64, 50, separators)) <= 64
        # At these sizes LangChain's chunks keep to them.
        for chunk_size in (512, 2048):
            spans = split_text(text, chunk_size, 50, separators)
            chunks = [text[span.start : span.end] for span in spans]
            assert len(chunks) > 1
            assert chunks == without_beginnings(langchain_chunks(text, chunk_size, 50, separators, "start"))
