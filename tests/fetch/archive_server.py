"""A web server on this machine that serves a 3GPP-like archive, with faults on demand."""

import html
import io
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

ARCHIVE = "/ftp/Specs/archive"


def zip_bytes(text: str, num_filler: int = 0) -> bytes:
    """Return a zip file with one document; the filler makes it large, whatever the packing."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("document.docx"), text + "x" * num_filler)
    return packed.getvalue()


@dataclass
class Served:
    """One file of the server: its bytes, and what the server says of them."""

    data: bytes
    etag: str | None = '"1"'
    stamp: str = "2024/06/12 15:14"
    content_type: str = "application/x-zip-compressed"


class Handler(BaseHTTPRequestHandler):
    """Folders as listings, files with ETag, ranges and conditions, and the faults of `Server.faults` first."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
        pass

    def do_GET(self) -> None:
        with self.server.counted():
            self.answer()

    def answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append((path, dict(self.headers.items())))
        fault = self.server.next_fault(path)
        if fault is not None:
            fault(self)
            return
        if path in self.server.files:
            self.send_file(self.server.files[path])
        elif any(name.startswith(path.rstrip("/") + "/") for name in self.server.files):
            self.send_page(200, self.server.listing(path.rstrip("/") + "/"))
        else:
            self.send_page(404, "<html>Not here</html>")

    def send_page(self, status: int, page: str, **headers: str) -> None:
        data = page.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_file(self, served: Served, num_sent: int | None = None) -> None:
        """Send a file, or what is asked of it; `num_sent` bytes only where the connection is to drop."""
        if served.etag and self.headers.get("If-None-Match") == served.etag:
            self.send_response(304)
            self.send_header("ETag", served.etag)
            self.end_headers()
            return
        data, start = served.data, 0
        wanted = self.headers.get("Range")
        if wanted and self.server.honours_ranges and self.headers.get("If-Range") in (None, served.etag):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        if served.etag:
            self.send_header("ETag", served.etag)
        self.send_header("Content-Type", served.content_type)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:] if num_sent is None else data[start : start + num_sent])
        if num_sent is not None:
            self.drop()

    def drop(self) -> None:
        """Close the connection in the middle of an answer."""
        self.wfile.flush()
        self.close_connection = True


Fault = Callable[[Handler], None]


class Server(ThreadingHTTPServer):
    """The archive as a dictionary from path to file."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, Served] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.faults: dict[str, list[Fault]] = {}
        self.honours_ranges = True
        self.most_at_once = 0
        self._num_now = 0
        self._count = threading.Lock()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request as under way."""
        with self._count:
            self._num_now += 1
            self.most_at_once = max(self.most_at_once, self._num_now)
        yield
        with self._count:
            self._num_now -= 1

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def root(self) -> str:
        return self.host + ARCHIVE

    def add(self, spec: str, version: str, text: str = "text", num_filler: int = 0) -> str:
        """Put a version of a specification into the archive; returns its path."""
        path = f"{ARCHIVE}/{spec[:2]}_series/{spec}/{spec.replace('.', '')}-{version}.zip"
        self.files[path] = Served(zip_bytes(f"{spec} {version} {text}", num_filler))
        return path

    def fail(self, path: str, *faults: Fault) -> None:
        """Let the next requests for a path meet faults, one each."""
        self.faults.setdefault(path, []).extend(faults)

    def next_fault(self, path: str) -> Fault | None:
        faults = self.faults.get(path)
        return faults.pop(0) if faults else None

    def asked(self, suffix: str) -> list[dict[str, str]]:
        """Return the headers of each request for a path that ends so."""
        return [headers for path, headers in self.requests if path.endswith(suffix)]

    def listing(self, folder: str) -> str:
        """Draw a folder as a table like the archive's own: an icon, a name, a date, a rounded size."""
        names = sorted({path.removeprefix(folder).partition("/")[0] for path in self.files if path.startswith(folder)})
        rows = []
        for name in names:
            served = self.files.get(folder + name)
            link = html.escape(f"{self.host}{folder}{name}")
            size = f"{len(served.data) / 1000:.1f} KB" if served else ""
            rows.append(
                f'<tr><td><a href="{link}"><img src="/i.png"></a></td><td><a href="{link}">{name}</a></td>'
                f"<td>{served.stamp if served else ''}</td><td>{size}</td></tr>"
            )
        above = folder.rstrip("/").rpartition("/")[0]
        return (
            f'<html><a href="?sortby=date">Date</a><a href="{above}/">Parent</a>'
            f"<table><tr><th>Name</th><th>Date</th><th>Size</th></tr>{''.join(rows)}</table></html>"
        )
