"""DOC (Word 97 to 2003) and RTF -> text, by way of LibreOffice, which makes a DOCX of them.

Each conversion has a profile of its own: LibreOffice processes that share one lose files. The profile forbids macros
and fetching what a document links to.
"""

import io
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType

import olefile

from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.docx.reader import read_docx

_OLE_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")
HOW_TO_INSTALL = "apt-get install libreoffice-writer-nogui, or brew install --cask libreoffice"
DEFAULT_TIMEOUT_S = 300.0

_RTF_MAGIC = b"{\\rtf"
_ZIP_MAGIC = b"PK\x03\x04"
_PDF_MAGIC = b"%PDF-"
_HTML_MARKS = (b"<html", b"<!doctype html", b"mime-version:", b"<?xml")
# The file information block opens the stream WordDocument: the flags at byte 10 hold "encrypted or obfuscated".
_FLAGS_AT = 10
_ENCRYPTED_FLAG = 0x0100
# LibreOffice on macOS is an application bundle that no PATH leads to.
_MAC_PROGRAM = "/Applications/LibreOffice.app/Contents/MacOS/soffice"
_SECURITY = "/org.openoffice.Office.Common/Security/Scripting"
_PROFILE_SETTINGS = f"""<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="{_SECURITY}"><prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="{_SECURITY}"><prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""


def find_soffice() -> str | None:
    """Return the path of LibreOffice's program, or None."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    return found or (_MAC_PROGRAM if os.access(_MAC_PROGRAM, os.X_OK) else None)


def is_doc(data: bytes) -> bool:
    """Whether bytes are a DOC, whatever the file is called."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            return bool(ole.exists("WordDocument"))
    except Exception:
        # olefile raises what it likes on damaged input.
        return False


def _refuse_what_is_no_readable_word_file(data: bytes) -> None:
    """Raise Unreadable for an OLE file that LibreOffice would fail on without a word."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            if ole.exists("EncryptedPackage"):
                raise Unreadable("encrypted", "it is protected by a password: save it without one")
            if not ole.exists("WordDocument"):
                raise Unreadable(
                    "mislabelled",
                    "it is an Office file without a Word document in it: leave it out, or print it to a PDF",
                )
            head = ole.openstream("WordDocument").read(_FLAGS_AT + 2)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("damaged", f"its OLE container is broken or cut short ({error}): fetch it again") from None
    if int.from_bytes(head[_FLAGS_AT:], "little") & _ENCRYPTED_FLAG:
        raise Unreadable("encrypted", "it is protected by a password: save it without one")


class _Termination:
    """SIGTERM for the reading process ends the converter; the process itself leaves when its folder is gone.

    An exception raised by the handler could come while the folder is being removed, and leave a half of it.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self.converter: subprocess.Popen[bytes] | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.is_asked = True
        self.end_converter()

    def end_converter(self) -> None:
        """End the converter and all that it started."""
        if self.converter is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.converter.pid, signal.SIGKILL)


@contextmanager
def _exit_on_sigterm() -> Iterator[_Termination]:
    """Leave by SystemExit where SIGTERM came in between; Python takes handlers in the main thread only."""
    termination = _Termination()
    if threading.current_thread() is not threading.main_thread():
        yield termination
        return
    before = signal.signal(signal.SIGTERM, termination)
    try:
        yield termination
    finally:
        signal.signal(signal.SIGTERM, before)
        if termination.is_asked:
            raise SystemExit(128 + signal.SIGTERM)


def _run(command: list[str], log: Path, timeout_s: float, termination: _Termination) -> int:
    """Run a command in a process group of its own, which is ended as a whole; raises subprocess.TimeoutExpired."""
    # A hostile document finds no credentials in the environment of its converter.
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 (the converter, on a file name of ours)
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment | {"LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        termination.converter = process
        try:
            if termination.is_asked:
                termination.end_converter()
            return process.wait(timeout_s)
        except BaseException:
            termination.end_converter()
            process.wait()
            raise
        finally:
            # Its number may be another process's from now on.
            termination.converter = None


def to_docx(data: bytes, suffix: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
    """The bytes of a .doc or .rtf -> those of a DOCX.

    Raises Unreadable: `no_converter`, `conversion_failed` or `timeout`.
    """
    program = find_soffice()
    if program is None:
        raise Unreadable("no_converter", f"LibreOffice, which reads .{suffix}, is not installed: {HOW_TO_INSTALL}")
    with (
        _exit_on_sigterm() as termination,
        tempfile.TemporaryDirectory(prefix="teleembed-", ignore_cleanup_errors=True) as name,
    ):
        folder = Path(name)
        source, log, made = folder / f"document.{suffix}", folder / "log", folder / "out" / "document.docx"
        source.write_bytes(data)
        settings = folder / "profile" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_PROFILE_SETTINGS)
        command = [
            *(program, f"-env:UserInstallation={(folder / 'profile').as_uri()}"),
            *("--headless", "--nologo", "--nodefault", "--norestore", "--nolockcheck"),
            *("--convert-to", "docx:MS Word 2007 XML", "--outdir", str(made.parent), str(source)),
        ]
        try:
            status = _run(command, log, timeout_s, termination)
        except subprocess.TimeoutExpired:
            raise Unreadable(
                "timeout",
                f"LibreOffice was not done with it after {timeout_s:g} s: open it in Word and save it as .docx",
            ) from None
        except OSError as error:
            raise Unreadable("no_converter", f"{program} does not start ({error}): {HOW_TO_INSTALL}") from None
        # It exits with 0 where it could not read its input, too.
        if status != 0 or not made.is_file() or not made.stat().st_size:
            said = (log.read_text("utf-8", "replace").strip().splitlines() or ["it says nothing"])[-1]
            raise Unreadable(
                "conversion_failed",
                f"LibreOffice made no DOCX of it (exit status {status}; {said}): open it in Word and save it as .docx",
            )
        return made.read_bytes()


def _named(data: bytes) -> str:
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(_PDF_MAGIC.lower()):
        return "a PDF"
    return "a web page" if any(mark in head for mark in _HTML_MARKS) else "no Word document"


def read_doc(path: str, data: bytes, keep_tables: bool = False, timeout_s: float = DEFAULT_TIMEOUT_S) -> Document:
    """DOC or RTF bytes -> Document; raises Unreadable. The bytes decide on what it is: a DOCX is read as one."""
    if data.startswith(_ZIP_MAGIC):
        return read_docx(path, data, keep_tables=keep_tables)
    if data.startswith(_OLE_MAGIC):
        _refuse_what_is_no_readable_word_file(data)
        kind = "doc"
    elif data.lstrip().startswith(_RTF_MAGIC):
        # Behind blank lines LibreOffice takes it for plain text.
        kind, data = "rtf", data.lstrip()
    else:
        raise Unreadable(
            "mislabelled", f"it is {_named(data)} in spite of its suffix: save it as .docx, or give it the right suffix"
        )
    return replace(read_docx(path, to_docx(data, kind, timeout_s), keep_tables=keep_tables), format=kind)
