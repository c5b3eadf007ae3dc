"""Readers in a process of their own: a file that hangs, crashes its reader or eats the memory costs one file.

`python -m teleembed_ray.documents.isolated PID` is that process. It reads one file after another, so that its start is
paid once, and is replaced after it had to be ended. A process started by `multiprocessing` would import the caller's
main script again, and one that is forked would share the threads and locks of a Ray worker.

Request and reply are frames on its stdin and stdout: eight bytes of length, then the bytes. A request is a frame of
JSON and one of the file; the reply is JSON too, since a hostile file may have taken over who writes it.
"""

import ctypes
import json
import os
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.reader import FRAGILE_SUFFIXES, read_document, suffix_of

_LENGTH = struct.Struct(">Q")
_START_TIMEOUT_S = 120.0
# What a process that is asked to end gets to end its own children and remove its temporary folder.
_GRACE_S = 5.0
# Most files are done within one tick, and then nothing is polled.
_TICK_S = 0.2
# A reader that keeps this share of its limit after a file is replaced, so that the next is judged by its own needs.
_KEPT_SHARE = 0.25
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Limits:
    """What reading one file may take; `max_memory_gib` is resident memory, converters included."""

    timeout_s: float = 300.0
    max_memory_gib: float = 4.0


class _TimeoutReached(Exception):  # noqa: N818 (it names an event; TimeoutError is also raised by the system)
    pass


class _MemoryReached(Exception):  # noqa: N818
    pass


class ReaderProcess:
    """One reading process and the two pipes to it; for the thread that made it alone."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        search_path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(  # noqa: S603 (our own module)
            [sys.executable, "-P", "-m", "teleembed_ray.documents.isolated", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": search_path},
            # Ctrl-C in a terminal is for the caller, which then ends this process.
            start_new_session=True,
        )
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("subprocess gave no pipes")
        self._process, self._requests, self._replies = process, process.stdin, process.stdout
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _end, process, self._requests, self._replies, self._owner)
        try:
            self._receive(time.monotonic() + _START_TIMEOUT_S, sys.maxsize)
        except (EOFError, _TimeoutReached) as error:
            self.close()
            status = self._process.returncode
            raise RuntimeError(f"the reading process does not start (exit status {status}): see stderr") from error

    @property
    def is_usable(self) -> bool:
        """Whether it runs and belongs to this process rather than to one that this was forked from."""
        return self._owner == os.getpid() and self._finalizer.alive and self._process.poll() is None

    def read(self, path: str, data: bytes, limits: Limits, keep_tables: bool) -> Document:
        """One file -> Document; raises Unreadable, with `timeout`, `too_much_memory` or `crashed` for a reader gone."""
        request = {"path": path, "keep_tables": keep_tables, "timeout_s": limits.timeout_s}
        deadline = time.monotonic() + limits.timeout_s
        max_bytes = int(limits.max_memory_gib * 2**30)
        try:
            _write_frame(self._requests, json.dumps(request).encode())
            _write_frame(self._requests, data)
            reply = self._receive(deadline, max_bytes)
        except _TimeoutReached:
            self.close()
            raise Unreadable(
                "timeout", f"no text after {limits.timeout_s:g} s: save it anew, exclude it, or raise ingest.timeout_s"
            ) from None
        except _MemoryReached:
            self.close()
            raise Unreadable(
                "too_much_memory",
                f"reading it takes more than {limits.max_memory_gib:g} GiB: save it anew, exclude it, or raise "
                "ingest.max_memory_gib",
            ) from None
        except (EOFError, BrokenPipeError):
            self.close()
            raise Unreadable(
                "crashed",
                f"its reader was ended by {_how_it_ended(self._process.returncode)}: save it anew, or exclude it",
            ) from None
        except BaseException:
            # An interrupt leaves a reply on its way, which must not be taken for the next file's.
            self.close()
            raise
        if self._memory(with_converters=False) > max_bytes * _KEPT_SHARE:
            self.close()
        if "reason" in reply:
            raise Unreadable(reply["reason"], reply["detail"])
        return Document(**reply)

    def close(self) -> None:
        """End the process and whatever it started."""
        self._finalizer()

    def _receive(self, deadline: float, max_bytes: int) -> dict[str, Any]:
        fd = self._replies.fileno()
        received = bytearray()
        num_expected = _LENGTH.size
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while len(received) < num_expected:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise _TimeoutReached
                if selector.select(min(left_s, _TICK_S)):
                    piece = os.read(fd, 1 << 20)
                    if not piece:
                        raise EOFError
                    received += piece
                    if len(received) >= _LENGTH.size:
                        num_expected = _LENGTH.size + _LENGTH.unpack_from(received)[0]
                elif self._memory() > max_bytes:
                    raise _MemoryReached
        reply: dict[str, Any] = json.loads(received[_LENGTH.size :])
        return reply

    def _memory(self, with_converters: bool = True) -> int:
        """Resident bytes of the process and of what it started."""
        num_bytes = 0
        # One that has just ended raises an error; the pipe will tell.
        with suppress(psutil.Error):
            process = psutil.Process(self._process.pid)
            for one in (process, *(process.children(recursive=True) if with_converters else ())):
                num_bytes += one.memory_info().rss
        return num_bytes


def _end(process: subprocess.Popen[bytes], requests: IO[bytes], replies: IO[bytes], owner: int) -> None:
    """End a process that this one owns, and close the pipes to it."""
    if owner != os.getpid():
        return
    # SIGTERM ends it at once, even inside of a parser's loop; while it waits for a converter it cleans up first.
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    replies.close()
    with suppress(BrokenPipeError):
        # What was not sent yet is of no use any more.
        requests.close()


def _how_it_ended(returncode: int) -> str:
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


# One process a thread: two threads would mix up their replies, and on Linux a process that is to die with its parent
# dies with the thread that started it.
_processes = threading.local()


def read_isolated(path: str, data: bytes, keep_tables: bool = False, limits: Limits = Limits()) -> Document:
    """One file -> Document with text, as `read_document` does, within `limits`; raises Unreadable and nothing else.

    Word and PDF files are read in this thread's reading process, text formats right here.
    """
    if suffix_of(path) not in FRAGILE_SUFFIXES:
        return read_document(path, data, keep_tables)
    process: ReaderProcess | None = getattr(_processes, "current", None)
    if process is None or not process.is_usable:
        process = _processes.current = ReaderProcess()
    return process.read(path, data, limits, keep_tables)


def _write_frame(pipe: IO[bytes], payload: bytes) -> None:
    pipe.write(_LENGTH.pack(len(payload)))
    pipe.write(payload)
    pipe.flush()


def _read_frame(pipe: IO[bytes]) -> bytes | None:
    """Return the next frame; None where the other side is gone."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    payload = pipe.read(length)
    return payload if len(payload) == length else None


def _die_with(parent: int) -> None:
    """Have the system end this process when its parent is gone; elsewhere than on Linux it ends after its file."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(0)


def _answer(request: bytes, data: bytes) -> bytes:
    options = json.loads(request)
    try:
        document = read_document(options["path"], data, options["keep_tables"], options["timeout_s"])
        reply = asdict(document)
    except Unreadable as error:
        reply = {"reason": error.reason, "detail": error.detail}
    return json.dumps(reply).encode()


def serve(parent: int) -> None:
    """Answer requests on stdin until it ends."""
    # A signal that the parent ignores or blocks would be ignored or blocked here too.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _die_with(parent)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a parser prints must not end up between the frames.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _write_frame(replies, b"{}")
    while (request := _read_frame(sys.stdin.buffer)) is not None and (
        data := _read_frame(sys.stdin.buffer)
    ) is not None:
        _write_frame(replies, _answer(request, data))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
