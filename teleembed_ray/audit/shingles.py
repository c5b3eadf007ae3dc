"""text -> word shingles: the sets whose Jaccard index says how alike two chunks are."""

import hashlib
import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Shingles = npt.NDArray[np.uint64]

WORD = re.compile(r"\w+")
# Odd, so that multiplying by it loses no bits.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def folded(text: str) -> str:
    """text -> the same words with single spaces: what two copies share that differ in their line ends only."""
    return " ".join(text.split())


# Python's own hash of a string differs from process to process.
@lru_cache(maxsize=1 << 17)
def _word_hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def shingles(text: str, num_words: int) -> Shingles:
    """text -> the sorted 64-bit hashes of its distinct runs of `num_words` words.

    Words are runs of letters, digits and underscores in lower case. A text of fewer words is one shingle; a text
    without words has none.
    """
    words = np.array([_word_hash(word) for word in WORD.findall(text.lower())], np.uint64)
    if not len(words):
        return words
    num_words = min(num_words, len(words))
    num_shingles = len(words) - num_words + 1
    hashes = np.zeros(num_shingles, np.uint64)
    # Unsigned arithmetic wraps around: a polynomial modulo 2^64, which tells the order of the words.
    for offset in range(num_words):
        hashes = hashes * MULTIPLIER + words[offset : offset + num_shingles]
    return np.unique(hashes)


def jaccard(left: Shingles, right: Shingles) -> float:
    """Shared shingles over all shingles of two sets; 0 where both are empty."""
    num_shared = len(np.intersect1d(left, right, assume_unique=True))
    num_all = len(left) + len(right) - num_shared
    return num_shared / num_all if num_all else 0.0
