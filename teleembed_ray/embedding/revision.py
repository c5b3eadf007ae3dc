"""What identifies the weights of a model, for fingerprints and manifests."""

import hashlib
from pathlib import Path

# A file up to this size is read whole.
WHOLE_FILE_BYTES = 16 << 20
BLOCK_BYTES = 64 << 10
NUM_BLOCKS = 64


def folder_revision(folder: str | Path) -> str:
    """model folder -> 40 hex digits over the names, sizes and contents of its files, hidden ones left out.

    Of a file above 16 MiB, 64 blocks of 64 KiB are read, spread evenly from its first byte to its last. Training
    changes nearly every weight, so a retrained or converted model is told apart; a change of single bytes in a large
    file may not be. A model of half a gigabyte takes about 10 ms.
    """
    folder = Path(folder)
    hasher = hashlib.sha256()
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names):
        if any(part.startswith(".") or part == "__pycache__" for part in name.split("/")):
            continue
        size = names[name].stat().st_size
        hasher.update(f"{len(name)} {name} {size}\n".encode())
        with names[name].open("rb") as file:
            if size <= WHOLE_FILE_BYTES:
                hasher.update(file.read())
                continue
            for block in range(NUM_BLOCKS):
                file.seek((size - BLOCK_BYTES) * block // (NUM_BLOCKS - 1))
                hasher.update(file.read(BLOCK_BYTES))
    return hasher.hexdigest()[:40]


def model_revision(source: str | Path, pinned: str | None = None) -> str | None:
    """Revision of a model: the pinned one, the content of a local folder, or the commit that the hub cache holds.

    None for a hub id that is neither pinned nor in the local cache: it is known once the model is loaded.
    """
    if pinned is not None:
        return pinned
    if Path(source).is_dir():
        return folder_revision(source)
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(str(source), "config.json")
    # .../models--owner--name/snapshots/<commit>/config.json
    return Path(found).parent.name if isinstance(found, str) else None
