"""Exit codes and one-line errors of the command line."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from teleembed_ray.cli import guarded, known_cause, main
from teleembed_ray.errors import ArtifactError, ConfigError

CONFIG = """
lake: {folder}/lake
corpora:
  docs: {{path: {folder}/docs}}
pairs:
  generator: {{model: "embedded:SmolLM2-135M-Instruct"}}
  validator: {{model: "embedded:gemma-3-270m", style: few_shot}}
embed: {{models: [minilm]}}
report: {{folder: {folder}/report}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Timers\n\nThe timer T310 starts when the UE detects problems.\n")
    path = tmp_path / "run.yaml"
    path.write_text(CONFIG.format(folder=tmp_path))
    return path


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("chunk.overlap=512", "must be below the smallest of sizes"),
        ("embed.models=[none]", "there is no such model card"),
        ("pairs.generator.model=./nowhere", "is no model folder"),
        ("pairs.generator.model='embedded:none'", "there are no such embedded weights"),
        ("pairs.generator.model='embedded:all-MiniLM-L6-v2'", "writes no text"),
        ("pairs.validator.revision=main", "belongs to a hub id"),
        ("corpora.docs.path=/nowhere/at/all", "there is no such folder"),
        ("report.folder=s3://bucket/report", "must be a folder of this machine"),
    ],
)
def test_a_wrong_value_is_one_line_exit_2_and_leaves_nothing_behind(
    config: Path, capsys: pytest.CaptureFixture[str], assignment: str, expected: str
) -> None:
    assert call("run", "--config", str(config), "--set", assignment) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert expected in lines[0]
    assert not (config.parent / "lake").exists()


def test_a_lake_or_report_inside_a_corpus_would_become_documents(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in ("lake", "report.folder"):
        assert call("plan", "--config", str(config), "--set", f"{key}={config.parent}/docs/out") == 2
        assert "it would become documents" in capsys.readouterr().err


def test_a_lake_without_a_run_has_no_report(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", "--config", str(config)) == 3
    assert "holds no run" in capsys.readouterr().err


def test_plan_writes_nothing_and_counts_what_would_run(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("plan", "--config", str(config)) == 0
    shown = capsys.readouterr().out
    assert "ingest" in shown
    assert "model tokens" in shown
    assert not (config.parent / "lake").exists()


def test_status_of_an_empty_lake_says_missing(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("status", "--config", str(config)) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("documents"))
    assert row.split()[1:5] == ["1", "0", "0", "1"]


def test_the_error_of_a_worker_is_found_in_what_ray_wraps_around_it() -> None:
    inner = ArtifactError("a.parquet is missing")
    outer = RuntimeError("task failed")
    outer.__cause__ = inner
    assert known_cause(outer) is inner
    text = "ray::task()\n  Traceback ...\nteleembed_ray.errors.ConfigError: card: wrong\n\nThe above exception was ..."
    found = known_cause(RuntimeError(text))
    assert isinstance(found, ConfigError)
    assert str(found) == "card: wrong"
    assert known_cause(RuntimeError("a bug")) is None


def test_a_folder_of_an_encoder_is_no_generator_and_one_of_a_language_model_is(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = config.parent / "model"
    model.mkdir()
    for architecture, code in (("BertModel", 2), ("Qwen3ForCausalLM", 0), ("Gemma3ForConditionalGeneration", 0)):
        (model / "config.json").write_text(f'{{"architectures": ["{architecture}"]}}')
        assert call("plan", "--config", str(config), "--set", f"pairs.generator.model={model}") == code
    assert "it is a BertModel" in capsys.readouterr().err


@pytest.mark.ray
def test_an_engine_that_cannot_be_loaded_is_one_line_and_no_traceback_of_a_worker(config: Path) -> None:
    # Enough text for one chunk; nobody listens on the discard port.
    (config.parent / "docs" / "a.md").write_text("The timer T310 starts when the UE detects problems.\n\n" * 20)
    server = "{model: m, engine: openai, endpoint: {url: 'http://127.0.0.1:9/v1'}}"
    command = [sys.executable, "-m", "teleembed_ray.cli", "run", "--config", str(config), "--until", "pairs"]
    assignments = ["--set", f"pairs.generator={server}", "--set", "chunk={sizes: [128], overlap: 10}"]
    done = subprocess.run([*command, *assignments], capture_output=True, text=True)
    assert done.returncode == 2
    said = done.stderr.splitlines()
    errors = [line for line in said if "error" in line.lower()]
    assert errors == [said[-1]]
    assert said[-1].startswith("error: endpoint http://127.0.0.1:9/v1: model 'm': cannot be reached")
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "", "/lake/x"), PermissionError(errno.EACCES, "", "/lake/x")])
def test_a_full_disk_and_a_missing_right_are_one_line_and_a_bug_keeps_its_traceback(
    error: OSError, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    assert guarded(fail) == 3
    line = capsys.readouterr().err
    assert line.startswith("error: /lake/x: ")
    assert line.count("\n") == 1
    error = FileNotFoundError(errno.ENOENT, "", "/lake/x")
    with pytest.raises(FileNotFoundError):
        guarded(fail)


def test_help_names_the_commands_and_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    shown = capsys.readouterr().out
    for command in ("run", "plan", "status", "report", "doctor", "configs/demo.yaml"):
        assert command in shown
