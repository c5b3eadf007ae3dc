"""text -> spans: recursive character splitting that knows where each chunk lies.

The chunks are those of LangChain's RecursiveCharacterTextSplitter, which the tests hold this module to. LangChain cuts
strings and searches for their offsets afterwards, which finds an earlier copy or nothing in repetitive text. Since the
separators stay in the text, each piece and each run of pieces is a slice of it: here only offsets are cut and merged.
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


def _merge(pieces: Sequence[_Piece], chunk_size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the longest runs of pieces that fit; each run repeats at most `overlap` tokens of the last.

    A run's size is the sum of its pieces' tokens, as in LangChain; the joined text may count a few fewer or more.
    """
    first = 0
    total = 0
    for last, piece in enumerate(pieces):
        if last > first and total + piece.num_tokens > chunk_size:
            yield pieces[first].start, piece.start
            # A run that became empty has total 0, which ends the loop.
            while total > overlap or (total and total + piece.num_tokens > chunk_size):
                total -= pieces[first].num_tokens
                first += 1
        total += piece.num_tokens
    yield pieces[first].start, pieces[-1].end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    chunk = text[start:end]
    return start + len(chunk) - len(chunk.lstrip()), start + len(chunk.rstrip())


def _bounds(
    text: str, start: int, end: int, chunk_size: int, overlap: int, separators: Sequence[str], keep: Keep
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the chunks of text[start:end], cut at the first separator that occurs in it."""
    # The empty separator occurs in every text. Where no separator occurs, the text is one piece.
    level = next((i for i, separator in enumerate(separators) if text.find(separator, start, end) >= 0), None)
    separator = separators[-1] if level is None else separators[level]
    finer = separators[level + 1 :] if level is not None and separator else ()

    def merged(run: Sequence[_Piece]) -> Iterator[tuple[int, int]]:
        for run_start, run_end in _merge(run, chunk_size, overlap):
            chunk_start, chunk_end = _stripped(text, run_start, run_end)
            if chunk_start < chunk_end:
                yield chunk_start, chunk_end

    run: list[_Piece] = []
    for piece in _pieces(text, start, end, separator, keep):
        if piece.num_tokens < chunk_size:
            run.append(piece)
            continue
        if run:
            yield from merged(run)
            run = []
        if finer:
            yield from _bounds(text, piece.start, piece.end, chunk_size, overlap, finer, keep)
        else:
            yield piece.start, piece.end
    if run:
        yield from merged(run)


def split_text(text: str, chunk_size: int, overlap: int, separators: Sequence[str], keep: Keep = "start") -> list[Span]:
    """text -> spans in document order, the chunks of RecursiveCharacterTextSplitter(keep_separator=keep).

    `chunk_size` and `overlap` count cl100k_base tokens; all else is LangChain's default (literal separators, chunks
    stripped of white space). Starts never decrease. Overlap is made of whole pieces: two neighbours share none where
    the last piece of the first is longer than `overlap`, or where one of them was cut at a finer separator. A chunk is
    longer than `chunk_size` only where the separators do not end in "", or by the few tokens that joining its pieces
    adds. Raises ValueError for a size, an overlap or separators that make no sense.
    """
    if chunk_size < 1:
        raise ValueError(f"chunk_size: {chunk_size} must be at least 1")
    if not 0 <= overlap < chunk_size:
        raise ValueError(f"overlap: {overlap} must be at least 0 and below chunk_size, {chunk_size}")
    if not separators:
        raise ValueError("separators: name at least one")
    if not text:
        return []
    bounds = _bounds(text, 0, len(text), chunk_size, overlap, separators, keep)
    return [Span(start, end, count_tokens(text[start:end])) for start, end in bounds]
