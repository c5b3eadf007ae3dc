"""DOC and RTF by way of LibreOffice: what a converter does wrong is a named reject, and the real one reads the text."""

import io
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import docx
import psutil
import pytest

from teleembed_ray.documents import isolated, word97
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.isolated import Limits, read_isolated
from teleembed_ray.documents.reader import read_document

RTF = b"{\\rtf1 text}"
needs_soffice = pytest.mark.skipif(word97.find_soffice() is None, reason="LibreOffice is not on this machine")


def docx_bytes(*paragraphs: str, title: str = "Annex A") -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.add_table(2, 2).cell(1, 0).text = "CELL"
    for text in paragraphs:
        document.add_paragraph(text)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def ole_bytes(stream: str, flags: int = 0) -> bytes:
    """A compound file of one 4096-byte stream, laid out by hand ([MS-CFB]): FAT, directory, eight sectors of it."""
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    fat = [0xFFFFFFFD, end, *range(3, 10), end] + [free] * 118
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0) + struct.pack("<109I", 0, *[free] * 108)

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        encoded = (name + "\0").encode("utf-16-le")
        head = encoded.ljust(64, b"\0") + struct.pack("<HBBIII", len(encoded), kind, 1, free, free, child)
        return head + bytes(36) + struct.pack("<IQ", start, size)

    directory = entry("Root Entry", 5, 1, end, 0) + entry(stream, 2, free, 2, 4096) + bytes(256)
    content = struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, flags).ljust(4096, b"\0")
    return header + struct.pack("<128I", *fat) + directory + content


def reason(data: bytes, path: str = "a.doc") -> tuple[str, str]:
    with pytest.raises(Unreadable) as caught:
        read_document(path, data, timeout_s=1.0)
    return caught.value.reason, caught.value.detail


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path for a `soffice`, and one that all temporary files have to be gone from."""
    for name in ("bin", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(isolated, "_processes", threading.local())
    return tmp_path


def install(folder: Path, script: str) -> None:
    program = folder / "bin" / "soffice"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for a parent in vain does not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "temporary").iterdir())


def test_eight_documents_by_four_workers_never_share_a_profile(fake: Path) -> None:
    (fake / "made.docx").write_bytes(docx_bytes("converted"))
    install(
        fake,
        f"""
for option in "$@"; do
  case "$option" in -env:UserInstallation=file:///*) profile="${{option#-env:UserInstallation=file://}}" ;; esac
  [ "$before" = --outdir ] && out="$option"
  before="$option"
done
mkdir "$profile/in-use" || exit 77
echo "$profile" >> {fake}/profiles
sleep 0.3
mkdir -p "$out" && cp {fake}/made.docx "$out/document.docx"
rmdir "$profile/in-use"
""",
    )
    with ThreadPoolExecutor(4) as pool:
        documents = list(pool.map(lambda number: read_document(f"{number}.doc", RTF), range(8)))
    assert [document.text for document in documents] == ["converted"] * 8
    assert len(set((fake / "profiles").read_text().split())) == 8
    assert leftovers(fake) == []


def test_a_converter_that_sleeps_for_ever_is_ended_with_all_it_started(fake: Path) -> None:
    install(fake, f"sleep 1000 & echo $! > {fake}/pid; wait")
    assert reason(RTF)[0] == "timeout"
    assert not is_running(int((fake / "pid").read_text()))
    assert leftovers(fake) == []


def test_the_limit_of_a_file_ends_reader_and_converter_and_empties_the_folder(fake: Path) -> None:
    install(fake, f"sleep 1000 & echo $! > {fake}/pid; wait")
    # The converter's own limit is as long, so it is the reading process that has to end it.
    with pytest.raises(Unreadable, match="timeout"):
        read_isolated("a.doc", RTF, limits=Limits(timeout_s=1.0))
    assert not is_running(int((fake / "pid").read_text()))
    assert leftovers(fake) == []


MANY = 10_000
# Fills the folder for its output and fails, so that the folder is removed at once, which takes a while.
FILL = f"import sys; [open(f'{{sys.argv[1]}}/{{number}}', 'w').close() for number in range({MANY})]; sys.exit(1)"
CONVERT = """
import sys
from teleembed_ray.documents.word97 import to_docx
to_docx(bytes.fromhex(sys.argv[1]), "rtf")
"""


def test_an_end_that_is_asked_for_while_the_folder_is_removed_leaves_no_half_of_it(fake: Path) -> None:
    install(
        fake,
        'for out; do [ "$before" = --outdir ] && break; before="$out"; done; mkdir -p "$out"; echo "$out" > '
        f'{fake}/out; exec {sys.executable} -c "{FILL}" "$out"',
    )
    child = subprocess.Popen([sys.executable, "-c", CONVERT, RTF.hex()], stderr=subprocess.PIPE)
    most = 0
    while child.poll() is None:
        with suppress(FileNotFoundError):
            num_files = len(os.listdir((fake / "out").read_text().strip()))
            if num_files < most:
                child.terminate()
                break
            most = num_files
    child.communicate()
    assert child.returncode == 128 + signal.SIGTERM
    assert leftovers(fake) == []


def test_the_memory_of_a_converter_counts(fake: Path) -> None:
    install(fake, f"exec {sys.executable} -c \"x = b'x' * (700 << 20); import time; time.sleep(1000)\"")
    with pytest.raises(Unreadable, match="too_much_memory"):
        read_isolated("a.doc", RTF, limits=Limits(60.0, 0.5))
    assert leftovers(fake) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "exit status 0; it says nothing"),
        ("echo 'no filter'; exit 1", "exit status 1; no filter"),
        ('for one in "$@"; do :; done; mkdir -p "${one%/*}/out"; : > "${one%/*}/out/document.docx"', "exit status 0"),
    ],
)
def test_no_output_is_a_failed_conversion_whatever_the_exit_status(fake: Path, script: str, said: str) -> None:
    install(fake, script)
    found, detail = reason(RTF)
    assert found == "conversion_failed"
    assert said in detail
    assert leftovers(fake) == []


def test_without_libreoffice_the_reject_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word97, "find_soffice", lambda: None)
    found, detail = reason(ole_bytes("WordDocument"))
    assert found == "no_converter"
    assert "libreoffice-writer-nogui" in detail


def test_a_hostile_document_finds_no_credentials_in_its_converters_environment(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    install(fake, f"env > {fake}/environment")
    reason(RTF)
    assert "PATH=" in (fake / "environment").read_text()
    assert "hush" not in (fake / "environment").read_text()


def test_the_bytes_decide_what_a_doc_is(monkeypatch: pytest.MonkeyPatch) -> None:
    converted = docx_bytes("converted")
    monkeypatch.setattr(word97, "to_docx", lambda data, suffix, timeout_s: converted)
    assert read_document("a.doc", ole_bytes("WordDocument")).format == "doc"
    # A DOC that somebody renamed instead of saving it anew.
    assert read_document("a.docx", ole_bytes("WordDocument")).format == "doc"
    assert read_document("a.doc", RTF).format == "rtf"
    plain = read_document("a.doc", docx_bytes("as it is"))
    assert (plain.format, plain.text) == ("docx", "as it is")
    assert reason(ole_bytes("Workbook"))[0] == "mislabelled"
    assert reason(ole_bytes("EncryptedPackage"))[0] == "encrypted"
    assert reason(ole_bytes("WordDocument", flags=0x0100))[0] == "encrypted"
    assert reason(ole_bytes("WordDocument")[:700])[0] == "damaged"
    assert "a web page" in reason(b"\n<html xmlns:w=''><body>text")[1]
    assert "a PDF" in reason(b"%PDF-1.7 ...")[1]
    assert reason(b"plain text")[0] == "mislabelled"


def convert(data: bytes, folder: Path, target: str) -> bytes:
    (folder / "made.docx").write_bytes(data)
    profile = (folder / "profile").as_uri()
    command = [str(word97.find_soffice()), f"-env:UserInstallation={profile}", "--headless", "--convert-to", target]
    command += ["--outdir", str(folder), str(folder / "made.docx")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return (folder / f"made.{target.partition(':')[0]}").read_bytes()


@needs_soffice
@pytest.mark.parametrize(("target", "kind"), [("doc:MS Word 97", "doc"), ("rtf", "rtf")])
def test_a_real_conversion_keeps_every_paragraph_and_leaves_the_table_out(
    tmp_path: Path, target: str, kind: str
) -> None:
    paragraphs = [f"Clause {number}: the timer T3{number:02d} is caf\u00e9 \u2264 {number} ms." for number in range(40)]
    document = read_isolated("folder/a name.doc", convert(docx_bytes(*paragraphs), tmp_path, target))
    assert document.text.split("\n\n") == paragraphs
    assert (document.format, document.num_dropped_chars, document.title) == (kind, len("CELL"), "Annex A")


@needs_soffice
def test_an_rtf_behind_blank_lines_is_converted_and_not_taken_for_plain_text() -> None:
    assert (
        read_isolated("a.rtf", b"\r\n\r\n{\\rtf1\\ansi The timer T310 starts.\\par}").text == "The timer T310 starts."
    )


@pytest.mark.real
@needs_soffice
def test_a_specification_says_the_same_as_doc_and_as_docx(real_data: Path, tmp_path: Path) -> None:
    data = (real_data / "3gpp" / "22926-i00.docx").read_bytes()
    expected = read_document("a.docx", data)
    document: Document = read_isolated("a.doc", convert(data, tmp_path, "doc:MS Word 97"))
    paragraphs = [" ".join(text.split()) for text in expected.text.split("\n\n") if len(text) > 60]
    text = " ".join(document.text.split())
    missing = [paragraph for paragraph in paragraphs if paragraph not in text]
    assert len(paragraphs) > 100
    assert len(missing) <= 0.02 * len(paragraphs), missing[:3]
