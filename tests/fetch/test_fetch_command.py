"""`teleembed fetch` as typed: exit codes, one-line errors, and being killed in the middle."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from archive_server import Handler, Server

from teleembed_ray.cli import main
from teleembed_ray.config import CorpusConfig
from teleembed_ray.fetch.download import _Part

FAST = ("--rate", "20")


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["fetch", *arguments])
    return int(caught.value.code or 0)


def call_3gpp(server: Server, folder: Path, *arguments: str) -> int:
    return call("3gpp", "--release", "19", "--root", server.root, "--into", str(folder), *FAST, *arguments)


def test_the_printed_lines_are_a_corpus_of_the_folder(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add("38.331", "j10")
    assert call_3gpp(server, tmp_path / "into: here") == 0
    corpora = yaml.safe_load(capsys.readouterr().out)["corpora"]
    assert list(corpora) == ["3gpp-rel-19"]
    corpus = CorpusConfig.model_validate(corpora["3gpp-rel-19"])
    assert corpus.path == str(tmp_path / "into: here")
    assert corpus.include == ("**/*.zip",)


def test_the_printed_path_holds_wherever_the_configuration_lies(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("38.331", "j10")
    monkeypatch.chdir(tmp_path)
    assert call_3gpp(server, Path("here")) == 0
    assert yaml.safe_load(capsys.readouterr().out)["corpora"]["3gpp-rel-19"]["path"] == str(tmp_path / "here")


def test_failures_are_listed_at_the_end_with_exit_3(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add("38.331", "j10")
    assert call_3gpp(server, tmp_path, "--spec", "38.331", "--spec", "38.999") == 3
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert lines[-2].startswith("failed: 38.999: ")
    assert lines[-2].endswith("[not_found]")
    assert lines[-1] == "error: 1 could not be had; all else is there: run the command again"
    assert "corpora" in shown.out


def test_a_dry_run_prints_a_line_for_each_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add("38.331", "j10")
    assert call_3gpp(server, tmp_path, "--dry-run") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[:3] == ["38.331", "19.1.0", "38_series/38331-j10.zip"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("3gpp", "--release", "3"),
        ("3gpp", "--release", "19", "--series", "6"),
        ("3gpp", "--release", "19", "--spec", "38331"),
        ("3gpp", "--release", "19", "--spec", "06.06"),
        ("3gpp", "--release", "19", "--root", "ftp://host/"),
        ("3gpp", "--release", "19", "--rate", "1000"),
        ("3gpp", "--release", "19", "--into", "/proc/none"),
        ("3gpp", "--release", "19", "--into", __file__),
        ("3gpp",),
        ("git", "https://host/x.git"),
    ],
)
def test_a_wrong_argument_is_exit_2_before_any_request(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_line_with_the_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: _Part, state: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    server.add("38.331", "j10")
    monkeypatch.setattr(_Part, "begin", full)
    assert call_3gpp(server, tmp_path) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"error: {tmp_path}/38_series/.38331-j10.zip.part: No space left on device")


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_fetch_that_is_killed_in_the_middle_of_a_file_goes_on_there(
    server: Server, tmp_path: Path, by: signal.Signals
) -> None:
    server.add("38.211", "j10")
    path = server.add("38.331", "j10", num_filler=500_000)
    half_sent, over = threading.Event(), threading.Event()

    def stall_half_way(handler: Handler) -> None:
        data = server.files[path].data
        handler.send_response(200)
        handler.send_header("ETag", '"1"')
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:200_000])
        handler.wfile.flush()
        half_sent.set()
        over.wait(60)
        handler.close_connection = True

    server.fail(path, stall_half_way)
    command = [sys.executable, "-m", "teleembed_ray.cli", "fetch", "3gpp", "--release", "19", "--root", server.root]
    command += ["--into", str(tmp_path), "--parallel", "1", *FAST]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ)
    part = tmp_path / "38_series" / ".38331-j10.zip.part"
    assert half_sent.wait(60)
    while not part.exists() or part.stat().st_size < 100_000:
        assert process.poll() is None
    process.send_signal(by)
    _, shown = process.communicate(timeout=60)
    over.set()
    assert process.returncode == (130 if by is signal.SIGINT else -signal.SIGKILL)
    if by is signal.SIGINT:
        assert shown.splitlines()[-1] == "interrupted: what is done stays; run the same command to go on"
    assert [file.name for file in tmp_path.rglob("*.zip")] == ["38211-j10.zip"]
    num_there = part.stat().st_size
    assert num_there >= 100_000

    server.requests.clear()
    assert call_3gpp(server, tmp_path) == 0
    assert [headers.get("Range") for headers in server.asked("38331-j10.zip")] == [f"bytes={num_there}-"]
    assert server.asked("38.211/") == []
    assert (tmp_path / "38_series" / "38331-j10.zip").read_bytes() == server.files[path].data
    assert sorted(json.loads((tmp_path / "manifest.json").read_text())["files"]) == [
        "38_series/38211-j10.zip",
        "38_series/38331-j10.zip",
    ]
    hidden = {file.name for file in tmp_path.rglob(".*")}
    assert hidden <= {".fetch.lock"}


def test_oran_says_what_to_do_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "oran"
    assert call("oran", "--into", str(folder)) == 0
    shown = capsys.readouterr().out
    assert "116 specification documents" in shown
    assert "There are 0 documents now" in shown
    assert not folder.exists()
    corpus = CorpusConfig.model_validate(yaml.safe_load(shown[shown.index("corpora:") :])["corpora"]["oran"])
    assert corpus.path == str(folder)
    folder.mkdir()
    for name in ("a.docx", "B.PDF", "notes.txt"):
        (folder / name).touch()
    assert call("oran", "--into", str(folder)) == 0
    assert "There are 2 documents now" in capsys.readouterr().out
