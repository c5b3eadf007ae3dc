"""Published specifications: the twins of all pairs compared, and one specification in two formats."""

import re
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from teleembed_ray.audit.languages import languages_table
from teleembed_ray.audit.shingles import shingles
from teleembed_ray.audit.sketches import sketches_table
from teleembed_ray.audit.twins import twins_table
from teleembed_ray.chunking.kernel import chunk_table
from teleembed_ray.chunking.separators import SEPARATORS
from teleembed_ray.documents.kernel import documents_table

pytestmark = pytest.mark.real

# The same specification as Word and as PDF file, and two others.
NAMES = (
    "O-RAN.WG3.TS.E2AP-R004-v07.00.docx",
    "O-RAN.WG3.TS.E2AP-R004-v07.00.pdf",
    "O-RAN.WG3.Y1GAP-R004-v01.01.docx",
    "O-RAN.WG6.O2-IMS-K8s-R003-v01.00.docx",
)
SIZE = 256


@pytest.fixture(scope="module")
def documents(real_data: Path) -> pa.Table:
    files = [{"corpus": "oran", "path": name, "data": (real_data / "oran" / name).read_bytes()} for name in NAMES]
    schema = pa.schema([("corpus", pa.string()), ("path", pa.string()), ("data", pa.large_binary())])
    return documents_table(pa.Table.from_pylist(files, schema=schema))


def test_near_pairs_are_all_found_and_no_other(documents: pa.Table) -> None:
    made = chunk_table(documents, SIZE, 50, 0.5, 1.5, SEPARATORS["prose"])
    chunks = made.filter(pc.is_null(made["reason"]))
    texts = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    twins = twins_table(
        sketches_table(chunks, 5), lambda ids: {chunk_id: shingles(texts[chunk_id], 5) for chunk_id in ids}, 0.8
    )
    near = {row["chunk_id"]: row["twin_group"] for row in twins.to_pylist() if row["kind"] == "near"}
    sets = {}
    for chunk_id, text in texts.items():
        words = re.findall(r"\w+", text.lower())
        sets[chunk_id] = {" ".join(words[start : start + 5]) for start in range(max(1, len(words) - 4))}
    pairs = [
        (left, right)
        for left, right in combinations(sets, 2)
        if len(sets[left] & sets[right]) >= 0.8 * len(sets[left] | sets[right])
    ]
    assert len(pairs) > 10
    # Every pair lies in one group, and nothing is in a group that no pair put there.
    assert all(near[left] == near[right] for left, right in pairs)
    assert set(near) == {chunk_id for pair in pairs for chunk_id in pair}


def test_published_specifications_are_in_english(documents: pa.Table) -> None:
    assert set(languages_table(documents, 0.8)["language"].to_pylist()) == {"en"}
