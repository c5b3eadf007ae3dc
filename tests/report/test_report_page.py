"""The page as a whole: whole or not at all, the same bytes for the same lake, honest about gaps, safe to open."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from teleembed_ray.errors import ArtifactError
from teleembed_ray.lake import Lake
from teleembed_ray.report.cells import Column, Missing, Table, to_csv, to_markdown
from teleembed_ray.report.figures import Group, Mark, Panel, panel_svg, shared_axis
from teleembed_ray.report.page import build_report
from teleembed_ray.report.provenance import lake_name
from teleembed_ray.report.texts import excerpt, portable

Publishers = dict[str, Callable[..., None]]


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def words_of(html: str) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", body)


def test_same_lake_gives_the_same_bytes_and_leaves_no_temporary_file(full_lake: Lake, tmp_path: Path) -> None:
    first, second = (build_report(full_lake, tmp_path / name, 3).parent for name in ("one", "two"))
    assert written(first) == written(second)
    assert all(Path(name).suffix in {".html", ".csv", ".md"} for name in written(first))
    assert not any(Path(name).name.startswith(".") for name in written(first))


def test_every_table_of_the_page_lies_beside_it_in_both_formats(full_lake: Lake, tmp_path: Path) -> None:
    page = build_report(full_lake, tmp_path / "page", 3)
    links = re.findall(r'href="(tables/[^"]+)"', page.read_text("utf-8"))
    present = {name for name in written(page.parent) if name.startswith("tables/")}
    assert sorted(links) == sorted(present)


def test_markup_in_titles_questions_and_texts_stays_text(full_lake: Lake, tmp_path: Path) -> None:
    html = build_report(full_lake, tmp_path / "page", 3).read_text("utf-8")
    assert "<script>alert" not in html
    assert "What does &lt;script&gt;alert(1)&lt;/script&gt; mean?" in html
    assert "Fronthaul &lt;script&gt;" in html
    assert html.count("<script>") == 1


def test_the_page_asks_for_nothing_from_outside(full_lake: Lake, tmp_path: Path) -> None:
    html = build_report(full_lake, tmp_path / "page", 3).read_text("utf-8")
    assert re.findall(r'(?:src|href)="(?!#|tables/|data:,)[^"]*"', html) == []
    assert "url(" not in html
    assert "@import" not in html


def test_machine_paths_stay_out_of_everything_written(full_lake: Lake, tmp_path: Path) -> None:
    files = written(build_report(full_lake, tmp_path / "page", 3).parent)
    everything = b"".join(files.values()).decode()
    assert "/home/someone" not in everything
    assert str(tmp_path) not in everything
    assert "broken.docx" in everything


def test_a_lake_without_tables_names_the_stage_to_run(empty_lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="--from ingest"):
        build_report(empty_lake, tmp_path / "page", 3)
    assert not (tmp_path / "page").exists()


@pytest.mark.parametrize("last", ["documents", "chunks", "pairs", "vectors", "rankings", "audits", "scores"])
def test_a_lake_that_ends_early_gives_an_honest_page(
    empty_lake: Lake, publishers: Publishers, tmp_path: Path, last: str
) -> None:
    names = list(publishers)
    for name in names[: names.index(last) + 1]:
        publishers[name](empty_lake)
    html = build_report(empty_lake, tmp_path / "page", 3).read_text("utf-8")
    words = words_of(html)
    assert re.search(r"\b(nan|NaN|None|null|inf)\b", words) is None
    for name in names[names.index(last) + 1 :]:
        assert f"The lake holds no {name}: run with --from" in words


@pytest.mark.parametrize("absent", ["documents", "chunks", "pairs", "vectors", "rankings", "audits", "scores"])
def test_a_lake_with_a_hole_gives_an_honest_page(
    empty_lake: Lake, publishers: Publishers, tmp_path: Path, absent: str
) -> None:
    for name, fill in publishers.items():
        if name != absent:
            fill(empty_lake)
    folder = build_report(empty_lake, tmp_path / "page", 3).parent
    words = words_of((folder / "index.html").read_text("utf-8"))
    assert re.search(r"\b(nan|NaN|None|null|inf)\b", words) is None
    assert f"The lake holds no {absent}: run with --from" in words
    for name, data in written(folder).items():
        assert re.search(rb"\b(nan|None)\b", data) is None, name


def test_an_empty_cell_shows_a_dash_and_why(full_lake: Lake, tmp_path: Path) -> None:
    folder = build_report(full_lake, tmp_path / "page", 3).parent
    text = (folder / "tables" / "clean.csv").read_text("utf-8")
    [row] = [row for row in csv.DictReader(text.splitlines()) if (row["model"], row["view"]) == ("beta", "A: srsran")]
    assert (row["clean"], row["clean_n"]) == ("", "")
    assert "clean: no questions in this cell" in row["missing"]
    markdown = (folder / "tables" / "clean.md").read_text("utf-8")
    assert "\N{EN DASH} (no questions in this cell)" in markdown


def test_a_page_that_cannot_be_rendered_leaves_the_old_one_whole(
    full_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = build_report(full_lake, tmp_path / "page", 3)
    before = written(page.parent)

    def fails(path: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        build_report(full_lake, tmp_path / "page", 0)
    assert written(page.parent) == before


def test_demo_models_are_called_weak_and_real_ones_are_not(
    empty_lake: Lake, publishers: Publishers, full_lake: Lake, tmp_path: Path
) -> None:
    assert "measure nothing yet" not in build_report(full_lake, tmp_path / "real", 0).read_text("utf-8")
    publishers["pairs"](full_lake, generator="embedded:SmolLM2-135M-Instruct")
    html = build_report(full_lake, tmp_path / "demo", 0).read_text("utf-8")
    assert "measure nothing yet" in html
    assert "SmolLM2-135M-Instruct" in html


def test_spreadsheets_see_text_and_negative_numbers_stay_numbers() -> None:
    columns = (Column("text", "Text"), Column("change", "Change", "difference"))
    rows = tuple((text, -0.5) for text in ("=1+1", "+1", "-1", "@x", "\tx", "plain"))
    lines = to_csv(Table("t", "T", columns, rows)).splitlines()
    assert lines[1] == "'=1+1,-0.500000,"
    assert [line[0] for line in lines[1:]] == ["'", "'", "'", "'", "'", "p"]


def test_pipes_line_ends_and_tags_do_not_break_a_markdown_table() -> None:
    table = Table("t", "T", (Column("a", "A"), Column("b", "B")), (("x | y\nz", Missing("none <b>")),))
    last = to_markdown(table).splitlines()[-1]
    assert last == "| x \\| y z | \N{EN DASH} (none &lt;b&gt;) |"


def test_a_name_in_a_figure_cannot_close_its_tag() -> None:
    panel = Panel("<T>", "d", (Group("g", (Mark("<script>", 0, Missing("x")),)),))
    svg = panel_svg(panel, shared_axis([panel]), "f")
    assert "<script>" not in svg
    assert "&lt;script&gt;" in svg


def test_lake_names_and_details_lose_folders_of_this_machine_and_keep_urls() -> None:
    assert lake_name("/home/me/runs/demo") == "demo"
    assert lake_name("s3://bucket/bench") == "s3://bucket/bench"
    assert (
        portable("no zip at /home/me/a b.docx and/or s3://bucket/x/y")
        == "no zip at .../a b.docx and/or s3://bucket/x/y"
    )
    assert portable('"/data/x/y.pdf"') == '".../y.pdf"'


def test_an_excerpt_ends_at_a_word_and_within_its_length() -> None:
    assert excerpt("one  two\nthree", 20) == "one two three"
    assert excerpt("alpha beta gamma", 14) == "alpha ..."
    assert len(excerpt("x" * 100, 20)) <= 20
