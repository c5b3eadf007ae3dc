"""An HTTP server that answers chat completions by a script: for faults that no real server gives on demand."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What is sent; `cut` closes the connection in the middle of the body."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


def chat(text: str | None, finish_reason: str | None = "stop", **message: Any) -> Answer:
    """Return a well-formed completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return Answer({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})


def fault(status: int, message: str, headers: dict[str, str] | None = None, **error: Any) -> Answer:
    """Return an error in OpenAI's form."""
    return Answer({"error": {"message": message, **error}}, status, headers or {})


@dataclass
class Server:
    """The address, and the bodies and headers of the completions that were asked for, in order of arrival."""

    url: str
    bodies: list[dict[str, Any]]
    headers: list[dict[str, str]]


@contextmanager
def serve(script: Callable[[int, dict[str, Any]], Answer], models: Answer | None = None) -> Iterator[Server]:
    """Serve `script(number of the request, its body)`; `models` answers GET /models."""
    bodies: list[dict[str, Any]] = []
    headers: list[dict[str, str]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(models or Answer({"data": [{"id": "m"}]}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(bodies)
                bodies.append(body)
                headers.append(dict(self.headers))
            self._send(script(number, body))

        def _send(self, answer: Answer) -> None:
            content = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if answer.cut else content)
            except (BrokenPipeError, ConnectionResetError):
                return

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{httpd.server_address[1]}/v1", bodies, headers)
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
