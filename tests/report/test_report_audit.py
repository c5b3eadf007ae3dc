"""The section on the corpora: its numbers worked out again from the chunks alone, and its figures."""

import csv
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

from teleembed_ray import schemas
from teleembed_ray.audit.audits import audits_table
from teleembed_ray.audit.shingles import shingles
from teleembed_ray.audit.sketches import sketches_table
from teleembed_ray.audit.twins import twins_table
from teleembed_ray.chunking.kernel import chunk_table, size_window
from teleembed_ray.chunking.separators import SEPARATORS
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import make_cell
from teleembed_ray.report.histograms import draw_histograms
from teleembed_ray.report.page import build_report
from teleembed_ray.stages.parts import split_rejects

SIZE = 64


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def documents_of() -> pa.Table:
    """Four documents: two share a passage to the letter, one repeats it with a word more, one is too short."""
    draw = np.random.default_rng(5)
    passage = " ".join(f"alpha{number}" for number in draw.integers(900, size=60))
    texts = [
        "\n\n".join([passage, *(" ".join(f"beta{n}" for n in draw.integers(900, size=50)) for _ in range(3))]),
        "\n\n".join([passage, " ".join(f"gamma{n}" for n in draw.integers(900, size=9))]),
        f"{passage} more",
        "short",
    ]
    rows = [
        {"doc_id": f"d{index}", "corpus": "core", "text": text, "num_chars": len(text)}
        for index, text in enumerate(texts)
    ]
    empty = dict.fromkeys(schemas.DOCUMENTS.names)
    return pa.Table.from_pylist([empty | row for row in rows], schema=schemas.DOCUMENTS)


@pytest.fixture
def audited(empty_lake: Lake) -> tuple[Lake, pa.Table, pa.Table]:
    """A lake whose chunks and audit were made by the kernels; also its chunks and its rejects."""
    documents, keys = documents_of(), {"corpus": "core", "chunk_size": SIZE}
    made = chunk_table(documents, SIZE, 8, 0.5, 1.5, SEPARATORS["prose"])
    chunks, rejects = split_rejects(make_cell("chunk", 1, "chunks", keys, {}, []), made)
    sketches = sketches_table(chunks, 5)
    texts = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    twins = twins_table(sketches, lambda ids: {chunk: shingles(texts[chunk], 5) for chunk in ids}, 0.8)
    audits = audits_table(sketches, twins, rejects, "core", SIZE, size_window(SIZE, 0.5, 1.5))
    tables = {"documents": ({"corpus": "core"}, documents), "chunks": (keys, chunks), "twins": (keys, twins)}
    for table, (where, rows) in {**tables, "audits": (keys, audits)}.items():
        empty_lake.publish(table, where, table, {}, [empty_lake.write_part(table, 0, rows)])
    return empty_lake, chunks, rejects


def test_lengths_and_discarded_shares_worked_out_again(
    audited: tuple[Lake, pa.Table, pa.Table], tmp_path: Path
) -> None:
    lake, chunks, rejects = audited
    [row] = rows_of(build_report(lake, tmp_path / "page", 0).parent, "chunk-sizes")
    kept = np.array(chunks["num_tokens"].to_pylist())
    details = [entry["detail"] for entry in rejects.to_pylist() if entry["reason"] == "outside_window"]
    lost = np.array([int(detail.split()[0]) for detail in details])
    assert len(lost)
    assert (row["chunks"], row["tokens"]) == (str(len(kept)), str(kept.sum()))
    expected = [kept.mean(), np.percentile(kept, 50), np.percentile(kept, 95)]
    assert [float(row[f"{name}_tokens"]) for name in ("mean", "median", "p95")] == pytest.approx(expected, abs=1e-5)
    made = len(kept) + len(lost)
    assert float(row["too_small"]) == pytest.approx((lost < SIZE / 2).sum() / made, abs=1e-6)
    assert float(row["too_large"]) == pytest.approx((lost > SIZE * 1.5).sum() / made, abs=1e-6)
    assert float(row["discarded_tokens"]) == pytest.approx(lost.sum() / (lost.sum() + kept.sum()), abs=1e-6)
    without = set(documents_of()["doc_id"].to_pylist()) - set(chunks["doc_id"].to_pylist())
    assert row["chunkless"] == str(len(without)) == "1"
    text = "".join(chunks["text"].to_pylist())
    assert float(row["digits"]) == pytest.approx(sum(map(str.isdigit, text)) / len(text), abs=1e-6)
    symbols = sum(not (letter.isalnum() or letter.isspace()) for letter in text)
    assert float(row["symbols"]) == pytest.approx(symbols / len(text), abs=1e-6)


def test_histogram_worked_out_again(audited: tuple[Lake, pa.Table, pa.Table], tmp_path: Path) -> None:
    lake, chunks, _ = audited
    rows = rows_of(build_report(lake, tmp_path / "page", 0).parent, "chunk-lengths")
    edges = np.arange(0, 21) * SIZE / 10
    counts, _ = np.histogram(chunks["num_tokens"].to_numpy(), bins=[*edges, np.inf])
    found = {row["tokens"].split()[0]: int(row["kept"]) for row in rows if row["kept"] != "0"}
    assert found == {f"{edge:g}": count for edge, count in zip(edges, counts, strict=True) if count}


def test_twins_and_repeats_worked_out_again(audited: tuple[Lake, pa.Table, pa.Table], tmp_path: Path) -> None:
    lake, chunks, _ = audited
    folder = build_report(lake, tmp_path / "page", 0).parent
    [row] = rows_of(folder, "twins")
    texts = Counter(" ".join(text.split()) for text in chunks["text"].to_pylist())
    repeated = {text: count for text, count in texts.items() if count > 1}
    assert repeated
    assert row["identical"] == str(sum(repeated.values()))
    assert row["identical_groups"] == str(len(repeated))
    assert float(row["identical_share"]) == pytest.approx(sum(repeated.values()) / chunks.num_rows, abs=1e-6)
    assert int(row["near"]) >= int(row["identical"])
    shown = rows_of(folder, "repeated-chunks")
    assert [int(entry["chunks"]) for entry in shown] == sorted(repeated.values(), reverse=True)
    assert all(any(text.startswith(entry["text"][:40]) for text in repeated) for entry in shown)


def test_questions_are_counted_by_the_twins_of_their_chunk(full_lake: Lake, tmp_path: Path) -> None:
    rows = {row["corpus"]: row for row in rows_of(build_report(full_lake, tmp_path / "page", 0).parent, "twins")}
    # q1 asks for c1, which has an identical twin; q2 for c3, which has a near one only.
    assert (rows["oran"]["questions_identical"], rows["oran"]["questions_near"]) == ("0.500000", "1.000000")
    assert (rows["srsran"]["questions_identical"], rows["srsran"]["questions_near"]) == ("0.000000", "0.000000")


def test_languages_are_counted_by_documents_and_characters(full_lake: Lake, tmp_path: Path) -> None:
    rows = rows_of(build_report(full_lake, tmp_path / "page", 0).parent, "languages")
    found = [(row["corpus"], row["language"], row["documents"], row["chars_share"]) for row in rows]
    assert found == [
        ("oran", "de", "1", "0.500000"),
        ("oran", "en", "1", "0.500000"),
        ("srsran", "undetermined (code)", "1", "1.000000"),
    ]


def test_a_repeated_text_is_no_markup_no_formula_and_its_comments_are_no_paths(full_lake: Lake, tmp_path: Path) -> None:
    page = build_report(full_lake, tmp_path / "page", 0)
    assert "=Text &lt;script&gt;alert(1)&lt;/script&gt; /* of code */" in page.read_text("utf-8")
    [row] = rows_of(page.parent, "repeated-chunks")
    assert row["text"].startswith("'=Text")
    assert row["text"].endswith("/* of code */")


def test_the_section_says_which_corpus_has_the_most_twins(full_lake: Lake, tmp_path: Path) -> None:
    words = re.sub(r"<[^>]*>", " ", build_report(full_lake, tmp_path / "page", 0).read_text("utf-8"))
    words = words.replace("\N{NO-BREAK SPACE}", " ")
    assert "most frequent in oran at 512 tokens: 100.0 % of its chunks have one, 66.7 % an identical one" in words


def audit_of(kept: dict[int, int], discarded: dict[int, int], **changes: object) -> dict[str, object]:
    bins = {
        "kept_bins": [kept.get(place, 0) for place in range(21)],
        "discarded_bins": [discarded.get(place, 0) for place in range(21)],
    }
    return {"corpus": "a<b", "chunk_size": 100, "window_low": 50, "window_high": 150, **bins, **changes}


def rects(svg: str, css: str) -> list[dict[str, float]]:
    """Position and size of the rectangles of one class."""
    root = ElementTree.fromstring(svg)  # noqa: S314 (our own figure)
    found = [entry for entry in root.iter() if entry.tag.endswith("rect") and css in entry.attrib["class"].split()]
    return [{name: float(entry.attrib[name]) for name in ("x", "y", "width", "height")} for entry in found]


def test_bars_are_as_high_as_their_counts_and_stand_on_each_other() -> None:
    [(title, svg)] = draw_histograms([audit_of({5: 10, 9: 40}, {4: 20, 5: 10})])
    assert title == "a<b, 100 tokens: 80 chunks made"
    low, high = rects(svg, "kept")
    lost, above = rects(svg, "discarded")
    assert high["height"] == pytest.approx(4 * low["height"], abs=0.2)
    assert lost["height"] == pytest.approx(2 * low["height"], abs=0.2)
    # Ten discarded above ten kept, in the same place.
    assert above["x"] == low["x"]
    assert above["y"] + above["height"] == pytest.approx(low["y"], abs=0.1)
    [band] = rects(svg, "window")
    # The window begins where the sixth bin does.
    assert band["x"] <= low["x"] < band["x"] + 3
    assert "40 kept, 0 discarded" in svg


def test_one_chunk_among_many_is_seen_and_a_wide_window_ends_with_the_figure() -> None:
    [(_, svg)] = draw_histograms([audit_of({9: 100_000}, {0: 1}, window_high=1000)])
    [lost] = rects(svg, "discarded")
    assert lost["height"] >= 1
    [band] = rects(svg, "window")
    assert band["x"] + band["width"] <= 344


def test_a_corpus_without_chunks_has_no_figure() -> None:
    assert draw_histograms([audit_of({}, {})]) == []
