"""What this machine has, one line a fact, with the way to get what is missing."""

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click

from teleembed_ray.documents.word97 import HOW_TO_INSTALL, find_soffice


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _gpus() -> str:
    if shutil.which("nvidia-smi") is None:
        return "none (nvidia-smi is not on the path)"
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi fails: {error}"
    return "; ".join(found.stdout.strip().splitlines()) or "none"


def _torch() -> str:
    try:
        import torch
    except ImportError as error:
        return f"missing: {error}: `make demo` installs it"
    device = f"CUDA {torch.version.cuda}" if torch.cuda.is_available() else "CPU"
    return f"{torch.__version__}, {device}, {torch.get_num_threads()} threads"


def _faiss() -> str:
    try:
        import faiss
    except ImportError as error:
        return f"missing: {error}: pip install faiss-cpu"
    gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
    return f"{faiss.__version__}, {faiss.get_compile_options().strip()}, {gpus} GPUs"


def _libreoffice() -> str:
    program = find_soffice()
    if program is None:
        return f"missing, so .doc and .rtf files are rejected: {HOW_TO_INSTALL}"
    try:
        found = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        return f"{program} fails: {error}: {HOW_TO_INSTALL}"
    return f"{found.stdout.strip() or 'found'} ({program})"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _ray_reachable() -> str:
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        return f"{_version('ray')}; RAY_ADDRESS is not set: a run starts Ray on this machine"
    host, _, port = address.removeprefix("ray://").removeprefix("http://").rpartition(":")
    if not port.isdigit():
        return f"{_version('ray')}; RAY_ADDRESS={address}"
    try:
        with socket.create_connection((host, int(port)), timeout=3):
            return f"{_version('ray')}; {address} answers"
    except OSError as error:
        return f"{_version('ray')}; {address} does not answer ({error}): is the cluster up, is RAY_ADDRESS right?"


def _cards() -> Iterator[tuple[str, str]]:
    from teleembed_ray.errors import ConfigError
    from teleembed_ray.models import card_folders, where_is

    seen = set()
    for folder in card_folders(Path("configs/none.yaml")):
        for path in sorted(folder.glob("*.yaml")):
            if path.stem not in seen:
                seen.add(path.stem)
                try:
                    yield f"model {path.stem}", where_is(path)
                except ConfigError as error:
                    yield f"model {path.stem}", f"the card is wrong: {error}"


def facts() -> Iterator[tuple[str, str]]:
    """Name and finding of each fact."""
    from teleembed_ray.demo.models import EMBEDDED, embedded_available

    disk = shutil.disk_usage(Path.cwd())
    yield "python", f"{platform.python_version()} on {platform.platform()}"
    yield "cores", f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}"
    yield "memory", f"{_memory_gib():.1f} GiB"
    yield "disk here", f"{disk.free / 2**30:.1f} GiB free of {disk.total / 2**30:.1f} GiB"
    yield "GPUs", _gpus()
    yield "torch", _torch()
    yield "FAISS", _faiss()
    yield "Ray", _ray_reachable()
    yield "LibreOffice", _libreoffice()
    yield "S3", f"s3fs {_version('s3fs')}"
    for name in EMBEDDED:
        yield f"embedded {name}", "found" if embedded_available(name) else "missing: `make demo` installs it"
    yield from _cards()


def print_report() -> None:
    """Print all facts."""
    for name, finding in facts():
        click.echo(f"{name:<34} {finding}")
