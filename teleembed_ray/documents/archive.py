"""ZIP -> its members, as 3GPP ships specifications: one or several documents, in folders or in a zip of their own.

Nothing is unpacked to a disk. A member's path is the archive's and its own: `38331-i40.zip/38331-i40.docx`.
"""

import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

from teleembed_ray.documents.document import Unreadable

SUFFIX = "zip"
# An archive in an archive is read, one deeper is not.
MAX_DEPTH = 2
MAX_MEMBERS = 10_000
MAX_MEMBER_BYTES = 512 << 20
# All members of an outer archive together, those of nested ones included: members may overlap.
MAX_TOTAL_BYTES = 4 << 30
# Specifications deflate to a tenth at most, source code to a thirtieth. Below the size, any ratio is harmless.
MAX_RATIO = 200
MIN_RATIO_BYTES = 16 << 20

_ENCRYPTED_FLAG = 0x1


@dataclass(frozen=True)
class Member:
    """One file of an archive; `read` returns its bytes or raises Unreadable."""

    path: str
    read: Callable[[], bytes]


@dataclass
class _Budget:
    """The bytes that an outer archive may still inflate to."""

    num_bytes: int


def _refusal(reason: str, detail: str) -> Callable[[], bytes]:
    def read() -> bytes:
        raise Unreadable(reason, detail)

    return read


def _plain_name(name: str) -> str | None:
    """Return a member's name with "/" between folders; None for one that would lead out of a folder."""
    # Some Windows programs write their own separator against the format's rule.
    plain = name.replace("\\", "/")
    pieces = PurePosixPath(plain).parts
    is_safe = bool(pieces) and not plain.startswith("/") and ".." not in pieces and not pieces[0].endswith(":")
    return "/".join(pieces) if is_safe else None


def _inflate(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> bytes:
    """Return a member's bytes within the limits; raises Unreadable."""
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise Unreadable("encrypted", "it is protected by a password: pack it without one")
    limit = min(MAX_MEMBER_BYTES, max(MIN_RATIO_BYTES, info.compress_size * MAX_RATIO), budget.num_bytes)
    # The size that is written down bounds what zipfile inflates.
    if info.file_size > limit:
        raise Unreadable(
            "too_large", f"it inflates from {info.compress_size} to {info.file_size} bytes: check where it is from"
        )
    try:
        data = archive.read(info)
    except NotImplementedError as error:
        raise Unreadable("damaged", f"it is packed by an unusual method ({error}): pack it anew") from None
    except Exception as error:
        # Each of the decompressors has errors of its own.
        raise Unreadable("damaged", f"its packed data is broken ({error}): fetch the archive again") from None
    budget.num_bytes -= len(data)
    return data


def _open(data: bytes) -> zipfile.ZipFile:
    if not data:
        raise Unreadable("empty_file", "it has no bytes: fetch it again, or leave it out")
    if not data.startswith(b"PK"):
        raise Unreadable(
            "mislabelled", "it is no zip file in spite of its suffix: give it the right one, or leave it out"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except Exception as error:
        # zipfile raises what it likes on damaged input.
        raise Unreadable("damaged", f"the archive is broken or cut short ({error}): fetch it again") from None
    if len(archive.infolist()) > MAX_MEMBERS:
        raise Unreadable("too_large", f"it has {len(archive.infolist())} members, more than {MAX_MEMBERS}: split it")
    return archive


def members(path: str, data: bytes, selects: Callable[[str], bool] = lambda path: True) -> Iterator[Member]:
    """The bytes of a ZIP -> its files that `selects` takes by their path, each once, in the archive's order.

    An archive that cannot be opened, and one that holds no such file, is one member itself, and says why.
    """
    return _members(path, data, selects, 1, _Budget(MAX_TOTAL_BYTES))


def _members(path: str, data: bytes, selects: Callable[[str], bool], depth: int, budget: _Budget) -> Iterator[Member]:
    try:
        archive = _open(data)
    except Unreadable as error:
        yield Member(path, _refusal(error.reason, error.detail))
        return
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir() and not info.filename.endswith("\\")]
        # Of members of one name the last counts, as it does for programs that unpack.
        names = [_plain_name(info.filename) for info in infos]
        last = {name: index for index, name in enumerate(names)}
        num_members = 0
        for index, (name, info) in enumerate(zip(names, infos, strict=True)):
            inner = f"{path}/{info.filename if name is None else name}"
            if name is not None and not selects(inner):
                continue
            num_members += 1
            if name is None:
                yield Member(inner, _refusal("unsafe_name", "its name leads out of the archive's folder: pack it anew"))
            elif last[name] != index:
                yield Member(inner, _refusal("duplicate", "the archive holds a later file of this name: pack it anew"))
            elif name.lower().endswith(f".{SUFFIX}"):
                yield from _nested(inner, archive, info, selects, depth, budget)
            else:
                yield Member(inner, partial(_inflate, archive, info, budget))
        if not num_members:
            yield Member(path, _refusal("empty_archive", "it holds no file that the globs select: leave it out"))


def _nested(
    path: str,
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    selects: Callable[[str], bool],
    depth: int,
    budget: _Budget,
) -> Iterator[Member]:
    if depth >= MAX_DEPTH:
        yield Member(path, _refusal("nested_too_deep", f"it is an archive at depth {depth + 1}: unpack the outer ones"))
        return
    try:
        data = _inflate(archive, info, budget)
    except Unreadable as error:
        yield Member(path, _refusal(error.reason, error.detail))
        return
    yield from _members(path, data, selects, depth + 1, budget)
