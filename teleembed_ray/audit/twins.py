"""sketches -> twins: chunks that say the same, or nearly the same.

Candidates come from locality-sensitive hashing: a signature is cut into bands, and two chunks are compared only where
all rows of a band agree. One band is sorted at a time, so memory grows with the chunks and not with the pairs. Each
candidate is then verified on the shingles themselves. Axes: T distinct texts, P places of a signature, M members.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.cluster.hierarchy import DisjointSet

from teleembed_ray import schemas
from teleembed_ray.audit.shingles import Shingles, jaccard

Rows = npt.NDArray[np.intp]
Signatures = npt.NDArray[np.uint32]
ReadShingles = Callable[[Sequence[str]], dict[str, Shingles]]

# A pair at the threshold becomes a candidate at least this often.
RECALL = 0.999
# An estimate from 128 places has a standard error of 0.035 at 0.8: what lies further below is not worth verifying.
MARGIN = 0.12


def rows_per_band(threshold: float, num_perm: int = schemas.NUM_PERM) -> int:
    """Return the most rows of a band with which a pair at the threshold still meets in some band.

    The chance is 1 - (1 - t^r)^b for b bands of r rows. More rows mean fewer pairs to verify.
    """
    fitting = [rows for rows in range(1, num_perm + 1) if 1 - (1 - threshold**rows) ** (num_perm // rows) >= RECALL]
    return max(fitting, default=1)


def _buckets(signatures_TP: Signatures, num_rows: int) -> Iterator[tuple[int, Rows]]:
    """Yield (first place of the band, members) of every bucket that has more than one member."""
    for start in range(0, signatures_TP.shape[1] - num_rows + 1, num_rows):
        band = np.ascontiguousarray(signatures_TP[:, start : start + num_rows])
        keys = band.view(np.dtype((np.void, band.dtype.itemsize * num_rows))).ravel()
        _, bucket_of, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        order = np.argsort(bucket_of, kind="stable")
        ends = np.cumsum(sizes)
        for bucket in np.flatnonzero(sizes > 1):
            yield start, order[ends[bucket] - sizes[bucket] : ends[bucket]]


def _join_bucket(
    members: Rows,
    start: int,
    num_rows: int,
    signatures_TP: Signatures,
    found: Sequence[Shingles],
    threshold: float,
    groups: DisjointSet,
) -> None:
    """Join the members of one bucket that are twins; pairs that are joined already are not looked at again."""
    roots = np.array([groups[int(member)] for member in members])
    sizes = np.array([len(found[member]) for member in members])
    least_agreeing = (threshold - MARGIN) * signatures_TP.shape[1]
    for place, member in enumerate(members[:-1]):
        rest = slice(place + 1, None)
        # The Jaccard index is at most the ratio of the sets' sizes.
        is_possible = np.minimum(sizes[rest], sizes[place]) >= threshold * np.maximum(sizes[rest], sizes[place])
        others = place + 1 + np.flatnonzero(is_possible & (roots[rest] != roots[place]))
        if not len(others):
            continue
        agree_MP = signatures_TP[members[others]] == signatures_TP[member]
        is_candidate = np.count_nonzero(agree_MP, axis=1) >= least_agreeing
        others, agree_MP = others[is_candidate], agree_MP[is_candidate]
        if not len(others):
            continue
        # A pair that met in an earlier band was verified there.
        met_before = agree_MP[:, :start].reshape(len(others), start // num_rows, num_rows).all(axis=2).any(axis=1)
        for other in others[~met_before]:
            if roots[other] != roots[place] and jaccard(found[member], found[members[other]]) >= threshold:
                groups.merge(int(member), int(members[other]))
                roots[roots == roots[other]] = roots[place]


def _near(chunk_ids: list[str], signatures_TP: Signatures, read_shingles: ReadShingles, threshold: float) -> list[int]:
    """Return, for each distinct text, the root of its connected component of near-identical texts."""
    num_rows = rows_per_band(threshold)
    groups = DisjointSet(range(len(chunk_ids)))
    buckets = list(_buckets(signatures_TP, num_rows))
    if buckets:
        needed = np.unique(np.concatenate([members for _, members in buckets]))
        by_id = read_shingles([chunk_ids[index] for index in needed])
        nothing = np.array([], np.uint64)
        found = [by_id.get(chunk_id, nothing) for chunk_id in chunk_ids]
        for start, members in buckets:
            _join_bucket(members, start, num_rows, signatures_TP, found, threshold, groups)
    return [int(groups[index]) for index in range(len(chunk_ids))]


def _rows(sketches: pa.Table, kind: str, group_of: Sequence[object]) -> pa.Table:
    """One row for each chunk whose group has a second chunk; a group is named after its smallest chunk_id."""
    chunk_ids = sketches["chunk_id"].to_pylist()
    members: dict[object, list[str]] = {}
    for chunk_id, group in zip(chunk_ids, group_of, strict=True):
        members.setdefault(group, []).append(chunk_id)
    names = [min(members[group]) for group in group_of]
    is_twin = [len(members[group]) > 1 for group in group_of]
    columns = {
        **{name: sketches[name] for name in ("chunk_id", "doc_id", "corpus", "chunk_size")},
        "kind": pa.array([kind] * sketches.num_rows, pa.string()),
        "twin_group": pa.array(names, schemas.ID),
    }
    return pa.table(columns, schema=schemas.TWINS).filter(pa.array(is_twin, pa.bool_()))


def twins_table(sketches: pa.Table, read_shingles: ReadShingles, threshold: float) -> pa.Table:
    """sketches -> twins, one row a chunk and kind of twin, ordered by kind, group and chunk.

    `identical`: the same text but for white space. `near`: connected by pairs whose word shingles have a Jaccard index
    of at least `threshold`; identical texts are near each other too, so the near groups hold the identical ones.
    `read_shingles` returns the shingles of the chunks that it is given.
    """
    texts: dict[str, str] = {}
    for folded_hash, chunk_id in zip(
        sketches["folded_hash"].to_pylist(), sketches["chunk_id"].to_pylist(), strict=True
    ):
        texts[folded_hash] = min(chunk_id, texts.get(folded_hash, chunk_id))
    chosen = set(texts.values())
    has_words = sketches["num_shingles"].to_numpy() > 0
    is_chosen = np.array([chunk_id in chosen for chunk_id in sketches["chunk_id"].to_pylist()], bool)
    # Each text once. What has no word has no shingles, and only an identical twin.
    places = np.flatnonzero(is_chosen & has_words)
    distinct = sketches.take(pa.array(places))
    flat = distinct["signature"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    signatures_TP = flat.reshape(-1, schemas.NUM_PERM)
    roots = _near(distinct["chunk_id"].to_pylist(), signatures_TP, read_shingles, threshold)
    near_of = dict(zip(distinct["folded_hash"].to_pylist(), roots, strict=True))
    hashes = sketches["folded_hash"].to_pylist()
    near = _rows(sketches, "near", [near_of.get(text, text) for text in hashes])
    rows = pa.concat_tables([_rows(sketches, "identical", hashes), near])
    return rows.sort_by([(name, "ascending") for name in ("kind", "twin_group", "chunk_id")])
