"""text -> spans: recursive character splitting that knows where each chunk lies.

The chunks are those of LangChain's RecursiveCharacterTextSplitter, which the tests hold this module to, wherever those
keep to the size that was asked for. LangChain cuts strings and searches for their offsets afterwards, which finds an
earlier copy or nothing in repetitive text. Since the separators stay in the text, each piece and each run of pieces is
a slice of it: here only offsets are cut and merged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from teleembed_ray.chunking.separators import Keep
from teleembed_ray.chunking.tokens import count_tokens


@dataclass(frozen=True)
class Span:
    """One chunk: `text[start:end]`, with the cl100k_base tokens of that string."""

    start: int
    end: int
    num_tokens: int


class _Piece(NamedTuple):
    """A slice of the text between two cuts, with the tokens it counts alone."""

    start: int
    end: int
    num_tokens: int


def _cuts(text: str, start: int, end: int, separator: str, keep: Keep) -> Iterator[int]:
    """Yield where text[start:end] is cut, `end` included; matches are taken from the left and do not overlap."""
    if not separator:
        yield from range(start + 1, end + 1)
        return
    found = text.find(separator, start, end)
    while found >= 0:
        after = found + len(separator)
        cut = found if keep == "start" else after
        # A cut at either edge would leave an empty piece.
        if start < cut < end:
            yield cut
        found = text.find(separator, after, end)
    yield end


def _pieces(text: str, start: int, end: int, separator: str, keep: Keep) -> Iterator[_Piece]:
    for cut in _cuts(text, start, end, separator, keep):
        yield _Piece(start, cut, count_tokens(text[start:cut]))
        start = cut


def _stripped(text: str, start: int, end: int) -> Span:
    chunk = text[start:end]
    stripped = chunk.strip()
    start += len(chunk) - len(chunk.lstrip()) if stripped else 0
    return Span(start, start + len(stripped), count_tokens(stripped))


def _merge(text: str, pieces: Sequence[_Piece], chunk_size: int, overlap: int) -> Iterator[Span]:
    """Yield the longest runs of pieces that fit; each run repeats at most `overlap` tokens of the last.

    A run grows by the sum of its pieces' tokens, as in LangChain. The joined text may count a few more: then the run
    first gives up what it repeats, and after that its last pieces, with which the next run begins.
    """
    first = last = total = 0
    # The piece with which the text that no run holds yet begins.
    new = 0
    while last < len(pieces):
        if last == first or total + pieces[last].num_tokens <= chunk_size:
            total += pieces[last].num_tokens
            last += 1
            if last < len(pieces):
                continue
        span = _stripped(text, pieces[first].start, pieces[last - 1].end)
        while span.num_tokens > chunk_size and last - first > 1:
            if first < new:
                total -= pieces[first].num_tokens
                first += 1
            else:
                last -= 1
                total -= pieces[last].num_tokens
            span = _stripped(text, pieces[first].start, pieces[last - 1].end)
        # A word may count more without the space before it.
        yield span if span.num_tokens <= chunk_size else Span(*pieces[first])
        new = last
        # A run that became empty has total 0, which ends the loop.
        while last < len(pieces) and (total > overlap or (total and total + pieces[last].num_tokens > chunk_size)):
            total -= pieces[first].num_tokens
            first += 1


def _spans(
    text: str, start: int, end: int, chunk_size: int, overlap: int, separators: Sequence[str], keep: Keep
) -> Iterator[Span]:
    """Yield the chunks of text[start:end], cut at the first separator that occurs in it."""
    # The empty separator occurs in every text. Where none occurs, the text is one piece.
    level = next((i for i, separator in enumerate(separators) if text.find(separator, start, end) >= 0), -1)
    separator = separators[level]
    finer = separators[level + 1 :] if separator and level >= 0 else ()
    run: list[_Piece] = []
    for piece in _pieces(text, start, end, separator, keep):
        if piece.num_tokens < chunk_size:
            run.append(piece)
            continue
        if run:
            yield from _merge(text, run, chunk_size, overlap)
            run = []
        if not finer and (piece.num_tokens == chunk_size or not separator):
            yield _stripped(text, piece.start, piece.end)
        else:
            yield from _spans(text, piece.start, piece.end, chunk_size, overlap, finer or ("",), keep)
    if run:
        yield from _merge(text, run, chunk_size, overlap)


def split_text(text: str, chunk_size: int, overlap: int, separators: Sequence[str], keep: Keep = "start") -> list[Span]:
    """text -> spans in document order, the chunks of RecursiveCharacterTextSplitter(keep_separator=keep).

    `chunk_size` and `overlap` count cl100k_base tokens; all else is LangChain's default (literal separators, chunks
    stripped of white space). Starts increase strictly. Overlap is made of whole pieces: two neighbours share none where
    the last piece of the first is longer than `overlap`, or where one of them was cut at a finer separator.

    No chunk counts more than `chunk_size` tokens, save a single character that does. LangChain exceeds it where the
    joined pieces count more than their sum (the chunk then begins or ends a piece earlier here) and where the
    separators cannot cut far enough (here "" follows the last).

    Raises ValueError for a size, an overlap or separators that make no sense.
    """
    if chunk_size < 1:
        raise ValueError(f"chunk_size: {chunk_size} must be at least 1")
    if not 0 <= overlap < chunk_size:
        raise ValueError(f"overlap: {overlap} must be at least 0 and below chunk_size, {chunk_size}")
    if not separators:
        raise ValueError("separators: name at least one")
    spans: list[Span] = []
    for span in _spans(text, 0, len(text), chunk_size, overlap, separators, keep) if text else ():
        # Long white space makes runs that are empty when stripped, or that the next one begins with.
        if span.start == span.end:
            continue
        if spans and spans[-1].start == span.start:
            spans.pop()
        spans.append(span)
    return spans
