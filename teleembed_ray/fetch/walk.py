"""Which specifications a walk through the archive has already looked at, so that a killed one goes on where it was.

The archive has thousands of folders and a polite client asks for two a second, so starting anew costs half an hour.
"""

import json
import time
from pathlib import Path

NAME = ".walk.jsonl"
# An older walk is begun anew: the archive has changed by then.
LONGEST_AGE_S = 24 * 3600.0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Walk:
    """The memory of one walk: a line for each specification, appended as soon as it is done."""

    def __init__(self, folder: Path, root: str, release: int) -> None:
        self._path = folder / NAME
        self._done: dict[str, str | None] = {}
        header, *lines = self._read()
        if header.get("root") == root and header.get("release") == release and self._is_young(header.get("started")):
            self._done = {str(line.get("spec")): _text(line.get("path")) for line in lines}
        else:
            header = {"root": root, "release": release, "started": time.time()}
            self._path.write_text(json.dumps(header) + "\n", encoding="utf-8")

    def _read(self) -> list[dict[str, object]]:
        """Return the header and the lines; a line that a crash cut short counts as none."""
        records: list[dict[str, object]] = []
        try:
            text = self._path.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return [{}]
        for line in text.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
        return records or [{}]

    @staticmethod
    def _is_young(started: object) -> bool:
        return isinstance(started, float) and 0 <= time.time() - started < LONGEST_AGE_S

    def knows(self, spec: str) -> bool:
        """Whether a specification was looked at already."""
        return spec in self._done

    def path_of(self, spec: str) -> str | None:
        """Return the file that a specification led to, or None where the release has none."""
        return self._done[spec]

    def note(self, spec: str, path: str | None) -> None:
        """Remember what a specification led to, so that it needs no second look."""
        self._done[spec] = path
        with self._path.open("a", encoding="utf-8") as file:
            # A line of its own even after one that was cut short.
            file.write("\n" + json.dumps({"spec": spec, "path": path}))

    def end(self) -> None:
        """Forget the walk: it is complete."""
        self._path.unlink(missing_ok=True)
