"""How busy `ingest` and `chunk` keep the cores, and whether their memory grows with the number of files.

    make bench NAME=ingest [COPIES=3] [SPECIFICATIONS=folder of documents]

A folder of specifications (the real ones where they are there, else the demo's) is copied COPIES and 4 x COPIES times,
and `teleembed run --until chunk` runs over each in a process of its own, at three chunk sizes. Twice a second all
processes below it are asked for their CPU time and their proportional memory. Busy is their CPU time over wall time and
cores, from the first file to the last chunk: Ray's start is no part of it. To be run on a quiet machine.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from teleembed_ray.demo.corpus import write_corpus

FLOOR = 0.85
# Four times the files may take this much more memory: Ray's own bookkeeping, and noise.
MOST_GROWTH = 1.15
ROOT = Path(__file__).parents[2]
SPECIFICATIONS = Path(os.environ.get("SPECIFICATIONS", ROOT.parent / "shared" / "data"))
SUFFIXES = (".docx", ".pdf")


@dataclass
class Usage:
    """CPU seconds by process and the largest sum of memory, as seen while a run goes on."""

    cpu_s: dict[int, float] = field(default_factory=dict)
    peak_bytes: int = 0

    def look(self, root: psutil.Process) -> None:
        """Ask every process below `root`; one that ends meanwhile keeps what it had."""
        num_bytes = 0
        for process in [root, *root.children(recursive=True)]:
            try:
                times = process.cpu_times()
                self.cpu_s[process.pid] = times.user + times.system
                num_bytes += process.memory_full_info().pss
            except psutil.Error:
                continue
        self.peak_bytes = max(self.peak_bytes, num_bytes)

    @property
    def total_s(self) -> float:
        """CPU seconds of all processes so far."""
        return sum(self.cpu_s.values())


def write_documents(folder: Path, num_copies: int) -> int:
    """Copy the specifications `num_copies` times; return the number of files."""
    sources = sorted(path for path in SPECIFICATIONS.rglob("*") if path.suffix in SUFFIXES)
    if not sources:
        write_corpus(folder.parent / "demo", num_documents=4, seed=7)
        sources = sorted(path for path in (folder.parent / "demo").rglob("*") if path.suffix in SUFFIXES)
    for copy in range(num_copies):
        (folder / str(copy)).mkdir(parents=True)
        for source in sources:
            shutil.copyfile(source, folder / str(copy) / source.name)
    return num_copies * len(sources)


def write_config(folder: Path) -> Path:
    """Write a configuration of one corpus; the models are named and never loaded."""
    path = folder / "bench.yaml"
    path.write_text(
        f"""
lake: {folder}/lake
corpora: {{specifications: {{path: {folder}/documents}}}}
pairs:
  generator: {{model: "embedded:SmolLM2-135M-Instruct"}}
  validator: {{model: "embedded:gemma-3-270m", style: few_shot}}
embed: {{models: [minilm]}}
report: {{folder: {folder}/report}}
"""
    )
    return path


def measure(folder: Path) -> tuple[float, float, int]:
    """Run `ingest` and `chunk`; return wall seconds, busy share of the cores, and peak bytes."""
    command = [sys.executable, "-m", "teleembed_ray.cli", "run", "--until", "chunk", "--config"]
    run = subprocess.Popen([*command, str(write_config(folder))], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    usage, process, is_over = Usage(), psutil.Process(run.pid), threading.Event()

    def watch() -> None:
        while not is_over.wait(0.5):
            usage.look(process)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = ended = time.monotonic()
    cpu_began = cpu_ended = 0.0
    assert run.stderr is not None
    for line in run.stderr:
        if "ingest:" in line and "cells to compute" in line:
            usage.look(process)
            began, cpu_began = time.monotonic(), usage.total_s
        elif "chunk: done" in line:
            usage.look(process)
            ended, cpu_ended = time.monotonic(), usage.total_s
    is_over.set()
    watcher.join()
    if run.wait() != 0 or ended <= began:
        sys.exit("ingest: the run failed")
    wall_s = ended - began
    return wall_s, (cpu_ended - cpu_began) / wall_s / (os.cpu_count() or 1), usage.peak_bytes


def main() -> None:
    """Measure both folders; exit 1 where the cores idle or memory grows with the files."""
    num_copies = int(os.environ.get("COPIES", "3"))
    busy, peaks = [], []
    for times in (1, 4):
        with tempfile.TemporaryDirectory() as folder:
            num_files = write_documents(Path(folder) / "documents", times * num_copies)
            wall_s, share, peak = measure(Path(folder))
        print(f"{num_files} files: {wall_s:.1f} s, cores {share:.0%} busy, peak {peak / 2**30:.2f} GiB", flush=True)
        busy.append(share)
        peaks.append(peak)
    growth = peaks[1] / peaks[0]
    print(f"ingest: memory at 4 x the files: {growth:.2f} times (ceiling {MOST_GROWTH})")
    print(f"ingest: ratio {busy[1]:.2f} (floor {FLOOR})")
    sys.exit(0 if busy[1] >= FLOOR and growth <= MOST_GROWTH else 1)


if __name__ == "__main__":
    main()
