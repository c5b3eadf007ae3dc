"""The stage `ingest` through Ray: an archive is many documents, in the tables, the accounting and the limits."""

import io
import zipfile
from pathlib import Path

import pytest

from teleembed_ray.config import RunConfig
from teleembed_ray.corpora import list_corpus
from teleembed_ray.errors import ArtifactError
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import Cell, Plan, RunContext, state
from teleembed_ray.progress import Progress
from teleembed_ray.stages import ingest


def context_of(folder: Path, **options: object) -> RunContext:
    config = RunConfig.model_validate(
        {
            "lake": str(folder / "lake"),
            "corpora": {"specs": {"path": str(folder / "specs"), "exclude": ("*.skip.md",)}},
            "ingest": options,
            "pairs": {"generator": {"model": "a"}, "validator": {"model": "b"}},
            "embed": {"models": ("minilm",)},
            "report": {"folder": str(folder / "report")},
        }
    )
    lake = Lake(config.lake)
    lake.create()
    listings = {"specs": list_corpus("run.yaml", "specs", config.corpora["specs"], lake, remember=False)}
    plan = Plan(config, listings, {}, None, None)  # type: ignore[arg-type]
    plan.add("ingest", ingest.cells(plan))
    return RunContext(plan, lake, Progress(io.StringIO()), {"packages": {}})


def cell_of(context: RunContext) -> Cell:
    return context.plan.cells["ingest"][0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files: a text, and an archive of three texts, an excluded one, a broken PDF and a drawing."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.md").write_text("alpha")
    with zipfile.ZipFile(tmp_path / "specs" / "b.zip", "w") as archive:
        for name in ("1.md", "2.md", "part/3.md", "4.skip.md"):
            archive.writestr(name, f"text {name}")
        archive.writestr("5.pdf", b"%PDF-1.7 broken")
        archive.writestr("6.vsd", b"a drawing")
    return tmp_path


@pytest.mark.ray
def test_each_member_is_a_document_or_a_reject_once(folder: Path, ray_session: None) -> None:
    # One of five that count was rejected: of two files it would be half.
    context = context_of(folder, max_reject_fraction=0.2)
    ingest.run(context, context.plan.cells["ingest"])
    documents = context.lake.read(context.partition(cell_of(context)))
    assert documents["path"].to_pylist() == ["a.md", "b.zip/1.md", "b.zip/2.md", "b.zip/part/3.md"]
    rejects = context.lake.read_all("rejects")
    assert rejects is not None
    assert rejects["reason"].to_pylist() == ["damaged", "unsupported"]
    assert rejects["detail"][0].as_py().startswith("b.zip/5.pdf: ")
    assert state(context.lake, cell_of(context)) == "done"


@pytest.mark.ray
def test_too_many_rejects_are_counted_in_documents(folder: Path, ray_session: None) -> None:
    context = context_of(folder, max_reject_fraction=0.1)
    with pytest.raises(ArtifactError, match=r"specs: 1 of 6 documents were rejected \(1 damaged, 1 unsupported\)"):
        ingest.run(context, context.plan.cells["ingest"])


def test_settings_that_shape_texts_make_a_cell_stale_and_limits_only_when_they_are_raised(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fingerprint(**options: object) -> str:
        return cell_of(context_of(folder, **options)).fingerprint

    plain = fingerprint()
    assert fingerprint(timeout_s=10.0, max_memory_gib=1.0, max_reject_fraction=0.5) == plain
    assert len({plain, fingerprint(tables="keep"), fingerprint(timeout_s=900.0), fingerprint(max_memory_gib=9.0)}) == 4
    # What a reject asked to install is there now.
    monkeypatch.setattr(ingest, "find_soffice", lambda: None)
    without = fingerprint()
    monkeypatch.setattr(ingest, "find_soffice", lambda: "soffice")
    assert fingerprint() != without
