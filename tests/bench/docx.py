"""Reading Word files against python-docx, and what the longest one costs.

    make bench NAME=docx [ROUNDS=5] [SPECIFICATIONS=folder of DOCX files]

Both sides read the same files from memory, one after the other, in rounds of which each file's median counts. Ours
reads all that docs/documents.md lists; python-docx joins `document.paragraphs`, so without tables, content controls,
changes, numbers, notes and equations. Ours counts the characters of tables too: python-docx is timed once with cells
read, which is the ratio for the same job. Then TS 24.229 (40 MB of XML) is read in a process of its own, for its
seconds and its peak of memory.
"""

import importlib
import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from teleembed_ray.documents.docx.reader import read_docx

FLOOR = 5.0
LONGEST = "24229-i40.docx"
MOST_SECONDS = 5.0
MOST_MB = 300
SPECIFICATIONS = Path(os.environ.get("SPECIFICATIONS", Path(__file__).parents[3] / "shared" / "data" / "3gpp"))

# This file has the name of the package that it measures, and its folder comes first.
sys.path = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
python_docx = importlib.import_module("docx")

# What a process does that reads one file; memory is in KB on Linux and in bytes on macOS.
READ_ONE = """
import resource, sys, time
from teleembed_ray.documents.docx.reader import read_docx
data = open(sys.argv[1], "rb").read()
started = time.perf_counter()
read_docx(sys.argv[1], data)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))
"""


def ours(path: Path, data: bytes) -> int:
    """Return the number of characters that the project's reader finds."""
    return len(read_docx(path.name, data).text)


def theirs(path: Path, data: bytes) -> int:
    """Return the same of python-docx."""
    return len("\n\n".join(paragraph.text for paragraph in python_docx.Document(io.BytesIO(data)).paragraphs))


def theirs_with_tables(path: Path, data: bytes) -> int:
    """Return the same with the text of tables, which python-docx has cell by cell."""
    document = python_docx.Document(io.BytesIO(data))
    cells = (cell.text for table in document.tables for row in table.rows for cell in row.cells)
    return sum(map(len, cells)) + sum(len(paragraph.text) for paragraph in document.paragraphs)


def seconds_of(read: Callable[[Path, bytes], int], path: Path, data: bytes) -> float:
    started = time.perf_counter()
    if not read(path, data):
        sys.exit(f"docx: {path.name} has no text")
    return time.perf_counter() - started


def costs_of_the_longest() -> bool:
    """Read the longest file in a fresh process and print what it cost; return whether that is little enough.

    First of all: on Linux the peak of a process counts that of the process that started it.
    """
    longest = SPECIFICATIONS / LONGEST
    if not longest.is_file():
        return True
    command = [sys.executable, "-c", READ_ONE, str(longest)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, done.stdout.split())
    print(
        f"{LONGEST}: {seconds:.2f} s (at most {MOST_SECONDS:.0f}), {megabytes:.0f} MB (at most {MOST_MB})", flush=True
    )
    return seconds <= MOST_SECONDS and megabytes <= MOST_MB


def main() -> None:
    """Compare and print the ratio; exit 1 below the floor, or where the longest file costs too much."""
    paths = sorted(SPECIFICATIONS.glob("*.docx"))
    if not paths:
        sys.exit(f"docx: no DOCX files in {SPECIFICATIONS}: say SPECIFICATIONS=folder")
    is_affordable = costs_of_the_longest()
    rounds = int(os.environ.get("ROUNDS", "5"))
    medians = []
    same_job = 0.0
    for path in paths:
        data = path.read_bytes()
        pairs = [(seconds_of(ours, path, data), seconds_of(theirs, path, data)) for _ in range(rounds)]
        mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
        medians.append((mine, other))
        same_job += seconds_of(theirs_with_tables, path, data)
        print(f"{path.name}: {mine:.3f} s, python-docx {other:.3f} s", flush=True)
    total, total_other = (sum(side) for side in zip(*medians, strict=True))
    print(f"all {len(paths)} files: {total:.2f} s, python-docx {total_other:.2f} s, with tables {same_job:.2f} s")
    print(f"docx: ratio {same_job / total:.2f} where python-docx reads tables too")
    print(f"docx: ratio {total_other / total:.2f} (floor {FLOOR:.0f})")
    sys.exit(0 if total_other / total >= FLOOR and is_affordable else 1)


if __name__ == "__main__":
    main()
