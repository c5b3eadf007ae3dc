"""A listing accounts for every file, reads none twice, and never hangs."""

import os
from pathlib import Path

import pytest

from teleembed_ray.config import CorpusConfig
from teleembed_ray.corpora import NOT_REGULAR, list_corpus
from teleembed_ray.errors import ConfigError
from teleembed_ray.lake import Lake
from teleembed_ray.stages.ingest import cut, read_files
from teleembed_ray.stages.parts import PartTask


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(str(tmp_path / "lake"))
    made.create()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    (made / "sub").mkdir(parents=True)
    (made / "a.md").write_text("alpha")
    (made / "sub" / "b.md").write_text("beta")
    (made / ".hidden").write_text("no document")
    return made


def listing(folder: Path, lake: Lake, **options: object) -> list[str]:
    config = CorpusConfig.model_validate({"path": str(folder), **options})
    return [file.path for file in list_corpus("run.yaml", "docs", config, lake, remember=True).files]


def test_globs_select_at_any_depth_and_hidden_files_are_none(folder: Path, lake: Lake) -> None:
    assert listing(folder, lake) == ["a.md", "sub/b.md"]
    assert listing(folder, lake, include=("sub/*",)) == ["sub/b.md"]
    assert listing(folder, lake, exclude=("**/b.*",)) == ["a.md"]


def test_a_glob_that_matches_nothing_is_named(folder: Path, lake: Lake) -> None:
    config = CorpusConfig(path=str(folder), include=("*.md", "*.docs"), exclude=("sub/b.md", "tests/"))
    found = list_corpus("run.yaml", "docs", config, lake, remember=False)
    assert found.unused == ("include '*.docs'", "exclude 'tests/'")


def test_the_fingerprint_follows_content_and_not_the_clock(folder: Path, lake: Lake) -> None:
    config = CorpusConfig(path=str(folder))

    def fingerprint() -> str:
        return list_corpus("run.yaml", "docs", config, lake, remember=True).fingerprint

    first = fingerprint()
    os.utime(folder / "a.md", (1, 1))
    assert fingerprint() == first
    (folder / "a.md").write_text("gamma")
    assert fingerprint() != first


def test_a_pipe_and_dangling_links_are_rows_with_a_reason_and_nothing_waits(folder: Path, lake: Lake) -> None:
    os.mkfifo(folder / "pipe.md")
    (folder / "dangling.md").symlink_to(folder / "nothing")
    found = list_corpus("run.yaml", "docs", CorpusConfig(path=str(folder)), lake, remember=True)
    files = [(file.path, file.digest != NOT_REGULAR) for file in found.files]
    rows = read_files(lake, PartTask("f", 0, ("docs", str(folder), files), len(files))).to_pylist()
    problems = {row["path"]: row["problem"] for row in rows}
    assert "no regular file" in problems["pipe.md"]
    assert problems["a.md"] is None


def test_a_link_to_a_file_is_read_as_that_file_and_noticed_when_that_changes(folder: Path, lake: Lake) -> None:
    outside = folder.parent / "outside.md"
    outside.write_text("gamma")
    (folder / "link.md").symlink_to(outside)
    config = CorpusConfig(path=str(folder))

    def digest() -> str:
        found = list_corpus("run.yaml", "docs", config, lake, remember=True)
        return next(file.digest for file in found.files if file.path == "link.md")

    first = digest()
    assert first != NOT_REGULAR
    rows = read_files(lake, PartTask("f", 0, ("docs", str(folder), [("link.md", True)]), 1)).to_pylist()
    assert rows[0]["data"] == b"gamma"
    outside.write_text("delta")
    assert digest() != first


def test_a_name_that_is_no_utf8_is_written_with_escapes(folder: Path, lake: Lake) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("delta")
    found = list_corpus("run.yaml", "docs", CorpusConfig(path=str(folder)), lake, remember=True)
    files = [(file.path, True) for file in found.files]
    rows = read_files(lake, PartTask("f", 0, ("docs", str(folder), files), len(files))).to_pylist()
    assert {row["path"]: row["data"] for row in rows}["caf\\xe9.md"] == b"delta"


def test_a_damaged_digest_cache_counts_as_none(folder: Path, lake: Lake) -> None:
    expected = listing(folder, lake)
    for text in ("{", "[]", "null"):
        lake.write_bytes("_listings/docs.json", text.encode())
        assert listing(folder, lake) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"path": "nowhere"}, "there is no such folder"), ({"include": ("*.pdf",)}, "no file there")],
)
def test_an_empty_or_missing_folder_is_named(
    folder: Path, lake: Lake, options: dict[str, object], expected: str
) -> None:
    config = CorpusConfig.model_validate({"path": str(folder), **options})
    with pytest.raises(ConfigError, match=rf"^run.yaml: corpora\.docs\.path: .*{expected}"):
        list_corpus("run.yaml", "docs", config, lake, remember=False)


def test_the_cut_into_parts_loses_no_file_and_depends_on_the_listing_alone(folder: Path, lake: Lake) -> None:
    for number in range(600):
        (folder / f"{number:03d}.txt").write_text("x" * number)
    files = list_corpus("run.yaml", "docs", CorpusConfig(path=str(folder)), lake, remember=False).files
    parts = cut(files)
    assert [file for part in parts for file in part] == list(files)
    assert len(parts) == 3
    assert parts == cut(files)
