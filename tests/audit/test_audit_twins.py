"""Twins against sets of word tuples compared pair by pair, at any cut and in any process."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest

from teleembed_ray import schemas
from teleembed_ray.audit import twins
from teleembed_ray.audit.shingles import Shingles, jaccard, shingles
from teleembed_ray.audit.sketches import signature, sketches_table
from teleembed_ray.audit.twins import rows_per_band, twins_table

NUM_WORDS = 5
THRESHOLD = 0.8


def chunks_of(texts: Sequence[str], documents: Sequence[str] | None = None) -> pa.Table:
    rows = [
        {
            "chunk_id": f"c{index:04d}",
            "doc_id": documents[index] if documents else f"d{index}",
            "corpus": "core",
            "chunk_size": 512,
            "num_tokens": 300,
            "text": text,
        }
        for index, text in enumerate(texts)
    ]
    schema = pa.schema([field for field in schemas.CHUNKS if field.name in rows[0]]) if rows else schemas.CHUNKS
    return pa.Table.from_pylist(rows, schema=schema)


def twins_of(chunks: pa.Table, sketches: pa.Table | None = None) -> pa.Table:
    texts = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))

    def read(chunk_ids: Sequence[str]) -> dict[str, Shingles]:
        return {chunk_id: shingles(texts[chunk_id], NUM_WORDS) for chunk_id in chunk_ids}

    return twins_table(sketches_table(chunks, NUM_WORDS) if sketches is None else sketches, read, THRESHOLD)


def groups_of(found: pa.Table, kind: str) -> set[frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for row in found.to_pylist():
        if row["kind"] == kind:
            groups.setdefault(row["twin_group"], set()).add(row["chunk_id"])
    return {frozenset(group) for group in groups.values()}


def corpus_of_variants(num_texts: int, seed: int) -> list[str]:
    """Random texts, each with copies in which more and more words are other ones; some copies differ in spaces only."""
    draw = np.random.default_rng(seed)
    texts = []
    for _ in range(num_texts):
        words = [f"w{word}" for word in draw.integers(5000, size=draw.integers(80, 200))]
        for num_changes in (0, 0, 1, 2, 4, 8):
            copy = list(words)
            for place in draw.choice(len(copy), num_changes, replace=False):
                copy[place] = f"x{draw.integers(5000)}"
            texts.append((" " if draw.random() < 0.5 else "\n").join(copy))
    draw.shuffle(texts)
    return texts


def compared_pair_by_pair(texts: Sequence[str]) -> set[frozenset[str]]:
    """Connected components of all pairs at or above the threshold, from sets of tuples of words."""
    sets = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        sets.append({tuple(words[start : start + NUM_WORDS]) for start in range(len(words) - NUM_WORDS + 1)})
    group = list(range(len(texts)))
    for left, right in combinations(range(len(texts)), 2):
        is_near = len(sets[left] & sets[right]) >= THRESHOLD * len(sets[left] | sets[right])
        if is_near and group[left] != group[right]:
            old, new = group[right], group[left]
            group = [new if name == old else name for name in group]
    found = {name: frozenset(f"c{i:04d}" for i, own in enumerate(group) if own == name) for name in set(group)}
    return {members for members in found.values() if len(members) > 1}


def test_shingles_are_runs_of_words_in_their_order() -> None:
    assert len(shingles("a b c d e f g", 5)) == 3
    # Case, punctuation and line ends are no words; the order is.
    assert np.array_equal(shingles("The UE, sends\nit.", 2), shingles("the ue sends it", 2))
    assert not np.intersect1d(shingles("a b", 2), shingles("b a", 2)).size
    # A run that comes twice is one shingle, a text shorter than a run is one, and no words give none.
    assert len(shingles("a b a b", 2)) == 2
    assert len(shingles("a b", 5)) == 1
    assert len(shingles("--- ...", 5)) == 0


def test_jaccard_counts_shared_over_all() -> None:
    left, right = shingles("a b c d", 1), shingles("c d e", 1)
    assert jaccard(left, right) == 2 / 5
    assert jaccard(left, left) == 1.0
    assert jaccard(shingles("", 1), shingles("", 1)) == 0.0


def test_signatures_agree_about_as_often_as_the_sets_do() -> None:
    draw = np.random.default_rng(3)
    errors = []
    for _ in range(40):
        values = draw.integers(0, 2**64, 600, dtype=np.uint64)
        left, right = np.unique(values[:400]), np.unique(values[200:])
        errors.append((signature(left) == signature(right)).mean() - 200 / 600)
    # The standard error of one estimate is 0.042, that of the mean of forty 0.0066.
    assert abs(np.mean(errors)) < 0.025
    assert np.std(errors) < 0.08


@pytest.mark.parametrize(("threshold", "rows"), [(0.5, 2), (0.8, 5), (0.9, 8), (1.0, 128)])
def test_bands_find_999_of_1000_pairs_at_the_threshold(threshold: float, rows: int) -> None:
    # 0.8: 1 - (1 - 0.8^5)^25 = 0.99995, and with six rows 1 - (1 - 0.8^6)^21 = 0.9983.
    assert rows_per_band(threshold) == rows


def test_groups_equal_those_of_all_pairs() -> None:
    texts = corpus_of_variants(40, seed=1)
    expected = compared_pair_by_pair(texts)
    assert groups_of(twins_of(chunks_of(texts)), "near") == expected
    # The variants lie on both sides of the threshold, or the test says nothing.
    assert {len(group) for group in expected} >= {3, 4}


def test_a_pair_that_meets_in_many_bands_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Just below the threshold: 96 of 122 shingles are shared, so the pairs meet in several bands and are never joined.
    words = [f"w{index}" for index in range(100)]
    texts = [" ".join([*words, *(f"v{copy}of{index}" for index in range(13))]) for copy in range(12)]
    seen: list[tuple[int, int]] = []

    def counted(left: Shingles, right: Shingles) -> float:
        seen.append((min(id(left), id(right)), max(id(left), id(right))))
        return jaccard(left, right)

    monkeypatch.setattr(twins, "jaccard", counted)
    assert twins_of(chunks_of(texts)).num_rows == 0
    assert len(seen) == len(set(seen))
    assert len(seen) > 30


def test_white_space_alone_makes_no_other_text_and_a_word_does() -> None:
    same = "one two three four five six seven eight nine ten eleven twelve"
    texts = [same, same.replace(" ", "\n\n"), same.replace("one", "ONE"), "quite another text"]
    found = twins_of(chunks_of(texts))
    assert groups_of(found, "identical") == {frozenset({"c0000", "c0001"})}
    # In lower case it is the same words, so near and not identical.
    assert groups_of(found, "near") == {frozenset({"c0000", "c0001", "c0002"})}
    assert set(found["twin_group"].to_pylist()) == {"c0000"}


def test_texts_without_words_are_twins_only_of_themselves() -> None:
    found = twins_of(chunks_of(["--- ***", "+++ ===", "--- ***", "a text of some words"]))
    assert groups_of(found, "identical") == groups_of(found, "near") == {frozenset({"c0000", "c0002"})}


def test_a_chain_of_near_texts_is_one_group_though_its_ends_differ() -> None:
    words = [f"w{index}" for index in range(100)]
    chain = [" ".join([*words[step * 8 :], *(f"v{index}" for index in range(step * 8))]) for step in range(4)]
    ends = [shingles(text, NUM_WORDS) for text in chain]
    assert all(jaccard(left, right) >= THRESHOLD for left, right in pairwise(ends))
    assert jaccard(ends[0], ends[-1]) < THRESHOLD
    assert len(groups_of(twins_of(chunks_of(chain)), "near")) == 1


def test_no_chunks_and_one_chunk_have_no_twins() -> None:
    for texts in ([], ["alone in the corpus"]):
        found = twins_of(chunks_of(texts))
        assert found.num_rows == 0
        assert found.schema == schemas.TWINS


def test_any_cut_and_any_order_of_the_parts_give_the_same_twins() -> None:
    chunks = chunks_of(corpus_of_variants(30, seed=2))
    whole = twins_of(chunks)
    size = -(-chunks.num_rows // 7)
    parts = [sketches_table(chunks.slice(start, size), NUM_WORDS) for start in range(0, chunks.num_rows, size)]
    assert len(parts) == 7
    shuffled = [parts[place] for place in (4, 0, 6, 2, 5, 1, 3)]
    assert twins_of(chunks, pa.concat_tables(shuffled)).equals(whole)
    assert whole.num_rows > 0


def test_signatures_do_not_depend_on_the_process() -> None:
    script = (
        "from teleembed_ray.audit.sketches import signature\n"
        "from teleembed_ray.audit.shingles import shingles\n"
        "print(signature(shingles('the gNB sends a setup request to the AMF', 3)).tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
