"""A reader that hangs, crashes or eats memory costs one file, and nothing outlives its caller."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from teleembed_ray.documents import isolated
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.isolated import Limits, ReaderProcess, read_isolated
from teleembed_ray.documents.kernel import documents_table

# What the reading process finds in place of the PDF reader: a file says what it does.
STUB = """
import ctypes, os, signal, time
from teleembed_ray.documents import reader
from teleembed_ray.documents.document import Document, Unreadable

def read(path, data, keep_tables=False):
    if data == b"spin":
        while True:
            pass
    if data == b"segfault":
        ctypes.string_at(0)
    if data == b"exit":
        os._exit(3)
    if data == b"eat":
        hoard = []
        while True:
            hoard.append(b"x" * (8 << 20))
            time.sleep(0.005)
    if data == b"no memory":
        bytearray(1 << 60)
    if data == b"print":
        os.write(1, b"a parser's warning")
        print("another", flush=True)
    if data == b"refuse":
        raise Unreadable("scanned", "its pages are images")
    return Document("title", f"{data.decode()} {os.getpid()} {keep_tables}", "pdf", 1, 2)

reader.READERS["pdf"] = read
"""


@pytest.fixture(autouse=True)
def stubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    # The process of an earlier test has another stub, or none.
    monkeypatch.setattr(isolated, "_processes", threading.local())


def reason(data: bytes, **limits: float) -> tuple[str, str]:
    with pytest.raises(Unreadable) as caught:
        read_isolated("a.pdf", data, limits=Limits(**limits))
    return caught.value.reason, caught.value.detail


def pid_of_reader() -> int:
    return int(read_isolated("a.pdf", b"pid").text.split()[1])


def test_of_five_files_one_that_never_ends_is_one_row_and_the_others_are_read() -> None:
    names = ["a.pdf", "b.pdf", "never.pdf", "d.md", "e.pdf"]
    rows = [{"corpus": "c", "path": name, "data": b"spin" if name == "never.pdf" else b"text"} for name in names]
    schema = pa.schema([("corpus", pa.string()), ("path", pa.string()), ("data", pa.large_binary())])
    table = documents_table(
        pa.Table.from_pylist(rows, schema=schema), partial(read_isolated, limits=Limits(timeout_s=1.0))
    )
    assert table["path"].to_pylist() == names
    assert table["reason"].to_pylist() == [None, None, "timeout", None, None]
    assert "ingest.timeout_s" in table["detail"][2].as_py()


@pytest.mark.parametrize(("data", "name"), [(b"segfault", "SIGSEGV"), (b"exit", "exit status 3")])
def test_a_crash_is_named_and_the_next_file_is_read(data: bytes, name: str) -> None:
    crashed, detail = reason(data)
    assert crashed == "crashed"
    assert name in detail
    assert read_isolated("b.pdf", b"next").text.startswith("next")


def test_a_reader_that_eats_memory_is_ended_at_its_limit() -> None:
    assert reason(b"eat", max_memory_gib=0.25)[0] == "too_much_memory"
    # An allocation that the system refuses is the same to the user.
    assert reason(b"no memory")[0] == "too_much_memory"


def test_what_a_parser_prints_does_not_end_up_between_the_replies() -> None:
    assert read_isolated("a.pdf", b"print").text.startswith("print")
    assert read_isolated("a.pdf", b"next").text.startswith("next")


def test_document_and_refusal_come_through_whole() -> None:
    document = read_isolated("a.pdf", "caf\u00e9 \U0001f4e1".encode(), keep_tables=True)
    assert (document.title, document.format, document.num_dropped_chars, document.num_unmapped_chars) == (
        *("title", "pdf"),
        *(1, 2),
    )
    assert document.text.split()[:2] == ["caf\u00e9", "\U0001f4e1"]
    assert document.text.endswith("True")
    assert reason(b"refuse") == ("scanned", "its pages are images")


def test_one_process_reads_file_after_file_and_is_replaced_when_it_was_ended() -> None:
    first = pid_of_reader()
    assert pid_of_reader() == first
    assert reason(b"spin", timeout_s=0.5)[0] == "timeout"
    assert not psutil.pid_exists(first)
    second = pid_of_reader()
    assert second != first
    # One that dies between two files takes none of them along.
    os.kill(second, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(second)], timeout=10) if psutil.pid_exists(second) else None
    assert pid_of_reader() not in (first, second)


def test_two_threads_do_not_mix_up_their_replies() -> None:
    found: dict[str, Document] = {}

    def read(name: str) -> None:
        for _ in range(20):
            found[name] = read_isolated("a.pdf", name.encode())
            assert found[name].text.startswith(name)

    threads = [threading.Thread(target=read, args=(name,)) for name in ("alpha", "beta")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["alpha"].text.split()[1] != found["beta"].text.split()[1]


def test_text_formats_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: ReaderProcess) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(ReaderProcess, "__init__", refuse)
    assert read_isolated("a.c", b"int a;").text == "int a;"
    with pytest.raises(AssertionError):
        read_isolated("a.pdf", b"x")


# No `if __name__ == "__main__"`, and a module beside it that is called like a library.
SCRIPT = """
import sys
from teleembed_ray.documents.isolated import read_isolated
print(read_isolated("a.pdf", b"pid").text.split()[1], flush=True)
if sys.argv[1:] == ["spin"]:
    read_isolated("b.pdf", b"spin")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "json.py").write_text("raise SystemExit('the wrong json')")
    (folder / "script.py").write_text(SCRIPT)
    return folder / "script.py"


def test_a_plain_script_in_a_folder_with_namesakes_can_read(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", str(script)], cwd=script.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert not psutil.pid_exists(int(done.stdout))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a reader ends after its file")
def test_a_caller_that_is_killed_takes_a_spinning_reader_along(script: Path) -> None:
    caller = subprocess.Popen([sys.executable, "-P", str(script), "spin"], stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    with caller, caller.stdout:
        reader = psutil.Process(int(caller.stdout.readline()))
        while reader.cpu_times().user < 0.5:
            time.sleep(0.05)
        caller.kill()
    gone, _ = psutil.wait_procs([reader], timeout=20)
    assert gone == [reader]


def test_a_reader_that_does_not_start_is_no_fault_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(9)")
    with pytest.raises(RuntimeError, match="does not start"):
        read_isolated("a.pdf", b"x")
