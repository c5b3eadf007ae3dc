"""A model folder is known by its content."""

import time
from pathlib import Path

import pytest

from teleembed_ray.demo.models import EMBEDDED, embedded_available, embedded_model
from teleembed_ray.embedding.revision import WHOLE_FILE_BYTES, folder_revision, model_revision


def make(folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    with (folder / "model.safetensors").open("wb") as file:
        for block in range(WHOLE_FILE_BYTES // 65536 + 40):
            file.write(bytes([block % 251]) * 65536)
    return folder


def test_the_place_of_a_folder_does_not_matter_and_hidden_files_do_not_count(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one"), make(tmp_path / "other")
    (other / ".cache").mkdir()
    (other / ".cache" / "lock").touch()
    assert folder_revision(one) == folder_revision(other)


@pytest.mark.parametrize("change", ["first byte", "last byte", "length", "small file", "name"])
def test_every_kind_of_change_shows(tmp_path: Path, change: str) -> None:
    folder = make(tmp_path / "one")
    before, weights = folder_revision(folder), folder / "model.safetensors"
    if change == "small file":
        (folder / "config.json").write_text("[]")
    elif change == "name":
        (folder / "config.json").rename(folder / "config2.json")
    else:
        with weights.open("r+b") as file:
            file.seek({"first byte": 0, "last byte": -1, "length": 0}[change], 2 if change != "first byte" else 0)
            file.write(b"\xff")
    assert folder_revision(folder) != before


def test_a_pinned_revision_is_taken_and_an_unknown_model_has_none(tmp_path: Path) -> None:
    assert model_revision("someone/tiny", "abc") == "abc"
    assert model_revision("someone/that-nobody-has") is None
    assert model_revision(make(tmp_path / "one")) == folder_revision(tmp_path / "one")


@pytest.mark.models
def test_the_demo_models_are_identified_in_well_under_a_second() -> None:
    folders = [embedded_model(name) for name in EMBEDDED if embedded_available(name)]
    for folder in folders:
        folder_revision(folder)
    started = time.perf_counter()
    assert len({folder_revision(folder) for folder in folders}) == len(folders)
    assert time.perf_counter() - started < 10.0
