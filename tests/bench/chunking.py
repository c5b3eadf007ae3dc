"""Chunks a second against LangChain with tiktoken's tokenizer on the same text, chunks equal.

    make bench NAME=chunking [ROUNDS=5] [SPECIFICATIONS=folder of DOCX files]

Both sides cut the same texts at 512, 1024 and 2048 tokens with an overlap of 50: real specifications where the folder
is there, else the demo's, and C++ headers that are installed with torch. LangChain's side is
RecursiveCharacterTextSplitter with `len(encoding.encode_ordinary(text))` of tiktoken; tiktoken's vocabulary is rebuilt
from the one that bpe-openai carries, since its own is a download. Every chunk must be equal, or nothing is printed.
Then the same text once, four and sixteen times over, plain and as one unbroken line: the cost must grow in line.
"""

import gzip
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from itertools import pairwise
from pathlib import Path

import tiktoken
import torch
from langchain_text_splitters import RecursiveCharacterTextSplitter

from teleembed_ray.chunking.separators import KEEP_SEPARATOR, SEPARATORS
from teleembed_ray.chunking.splitter import split_text
from teleembed_ray.demo.corpus import write_corpus
from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.reader import read_document

FLOOR = 2.3
SIZES = (512, 1024, 2048)
OVERLAP = 50
# Four times the text may cost this many times as much: noise, and nothing like the sixteen of a quadratic algorithm.
MOST_GROWTH = 6.0
SPECIFICATIONS = Path(os.environ.get("SPECIFICATIONS", Path(__file__).parents[3] / "shared" / "data" / "3gpp"))

Cut = Callable[[str, int, str], list[str]]


def tiktoken_encoding(folder: Path) -> tiktoken.Encoding:
    """Return tiktoken's cl100k_base, from a cache folder that is filled as tiktoken's own download would fill it."""
    packed = resources.files("bpe_openai.data").joinpath("cl100k_base.tiktoken.gz").read_bytes()
    # tiktoken looks for the SHA-1 of the address that it would load from.
    (folder / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(gzip.decompress(packed))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    return tiktoken.get_encoding("cl100k_base")


def ours(text: str, size: int, kind: str) -> list[str]:
    """Cut by the project's splitter; the chunks come with offsets and token counts, which LangChain's do not."""
    return [
        text[span.start : span.end] for span in split_text(text, size, OVERLAP, SEPARATORS[kind], KEEP_SEPARATOR[kind])
    ]


def langchain_cut(encoding: tiktoken.Encoding) -> Cut:
    """Return the other side."""

    def cut(text: str, size: int, kind: str) -> list[str]:
        splitter = RecursiveCharacterTextSplitter(
            separators=list(SEPARATORS[kind]),
            keep_separator=KEEP_SEPARATOR[kind],
            chunk_size=size,
            chunk_overlap=OVERLAP,
            length_function=lambda piece: len(encoding.encode_ordinary(piece)),
        )
        return splitter.split_text(text)

    return cut


def without_beginnings(chunks: list[str]) -> list[str]:
    """Drop each chunk that the next one kept begins with: after long white space LangChain hands out both."""
    kept: list[str] = []
    for chunk in chunks:
        while kept and chunk.startswith(kept[-1]):
            kept.pop()
        kept.append(chunk)
    return kept


def read_texts(folder: Path) -> list[tuple[str, str]]:
    """Return (kind of separators, text) of the specifications and of every eighth header of torch."""
    files = sorted(SPECIFICATIONS.glob("*.docx"))
    if not files:
        print(f"chunking: no DOCX files in {SPECIFICATIONS}: the demo's documents stand in")
        write_corpus(folder, num_documents=8, seed=7)
        files = sorted(folder.rglob("*.docx"))
    headers = sorted((Path(torch.__file__).parent / "include").rglob("*.h"))[::8]
    texts = []
    for kind, paths in (("prose", files), ("code", headers)):
        for path in paths:
            try:
                texts.append((kind, read_document(path.name, path.read_bytes()).text))
            except Unreadable as error:
                print(f"chunking: left out {path.name}: {error}")
    return texts


def seconds(cut: Cut, texts: list[tuple[str, str]], sizes: tuple[int, ...] = SIZES) -> float:
    """Return what it takes to cut all texts at all sizes."""
    started = time.perf_counter()
    for kind, text in texts:
        for size in sizes:
            cut(text, size, kind)
    return time.perf_counter() - started


def check_growth(name: str, text: str) -> bool:
    """Print what 1, 4 and 16 times a text cost, the least of three; return whether that grows in line."""
    costs = [min(seconds(ours, [("prose", text * times)], (512,)) for _ in range(3)) for times in (1, 4, 16)]
    grown = [after / before for before, after in pairwise(costs)]
    print(f"{name}: {len(text)} characters x 1, 4, 16: " + ", ".join(f"{cost:.3f} s" for cost in costs))
    return max(grown) < MOST_GROWTH


def main() -> None:
    """Compare and print the ratio; exit 1 where a chunk differs, below the floor, or where the cost grows too fast."""
    with tempfile.TemporaryDirectory() as folder:
        texts = read_texts(Path(folder) / "documents")
        theirs = langchain_cut(tiktoken_encoding(Path(folder)))
    num_chunks = 0
    for kind, text in texts:
        for size in SIZES:
            mine = ours(text, size, kind)
            if without_beginnings(mine) != without_beginnings(theirs(text, size, kind)):
                sys.exit(f"chunking: the chunks of {text[:60]!r} at {size} tokens differ")
            num_chunks += len(mine)
    print(f"{len(texts)} texts, {sum(len(text) for _, text in texts)} characters, {num_chunks} chunks: all equal")
    rounds = [(seconds(theirs, texts), seconds(ours, texts)) for _ in range(int(os.environ.get("ROUNDS", "5")))]
    for number, (slow, fast) in enumerate(rounds):
        print(f"round {number}: LangChain and tiktoken {slow:.2f} s, teleembed {fast:.2f} s")
    ratio = statistics.median(slow / fast for slow, fast in rounds)
    prose = max((text for kind, text in texts if kind == "prose"), key=len)[:500_000]
    is_linear = all([check_growth("prose", prose), check_growth("unbroken line", "x" * 100_000)])
    print(f"chunking: ratio {ratio:.2f} (floor {FLOOR})")
    sys.exit(0 if ratio >= FLOOR and is_linear else 1)


if __name__ == "__main__":
    main()
