"""The container of a Word file: which parts there are, how they relate, and their XML within bounds."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import unquote

from lxml import etree

from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.docx.names import STRICT

# The XML of the longest 3GPP specifications is about 150 MB; a few kilobytes of zip can claim any size.
MAX_XML_BYTES = 512 << 20
MAX_SMALL_PART_BYTES = 16 << 20

PARSER_OPTIONS: dict[str, Any] = {
    # huge_tree stays off: libxml2 then bounds the depth of the tree and the length of one text.
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "remove_comments": True,
    "remove_pis": True,
}

_OLE_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_DEFAULT_MAIN_PART = "word/document.xml"
_CORE_PROPERTIES = "docProps/core.xml"
_MAIN_CONTENT_TYPES = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    "application/vnd.ms-word.document.macroenabled.main+xml",
    "application/vnd.ms-word.template.macroenabledtemplate.main+xml",
)
_OTHER_OFFICE = ("xl/", "ppt/", "visio/")


class Relation(NamedTuple):
    """What a part refers to: the last word of the relation's type, and the name of a part or an outside address."""

    kind: str
    target: str


class BoundedFile(io.RawIOBase):
    """A member of the zip, with transitional namespaces, that never inflates beyond a limit.

    The limit holds whatever size the zip claims. Strict namespaces are replaced in the first block, where the root
    element declares them.
    """

    def __init__(self, member: Any, limit: int) -> None:
        self._member = member
        self._left = limit
        self._is_first = True

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._member.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise Unreadable("too_large", "it inflates to more XML than any real document has: check where it is from")
        if self._is_first:
            self._is_first = False
            for strict, transitional in STRICT.items():
                for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
                    # With its end quote: one namespace begins like another.
                    for quote in "\"'":
                        data = data.replace((strict + quote).encode(encoding), (transitional + quote).encode(encoding))
        return data


@contextmanager
def damage_of_the_zip_as_unreadable() -> Iterator[None]:
    """Turn what zipfile raises on broken or unusual data into Unreadable."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error, OSError) as error:
        raise Unreadable("damaged", f"its compressed data is broken ({error}): fetch it again") from None
    except NotImplementedError as error:
        raise Unreadable("unsupported", f"its zip compression is unusual ({error}): unpack and pack it again") from None
    except RuntimeError:
        raise Unreadable("encrypted", "the zip container is protected by a password: pack it without one") from None


def refuse_doctype(element: Any) -> None:
    """Raise Unreadable where the document of this element has a DTD: Word writes none, and entities could hide text."""
    if element.getroottree().docinfo.doctype:
        raise Unreadable("damaged", "its XML declares a document type, which no Word file has: save it anew in Word")


def _open_zip(data: bytes) -> zipfile.ZipFile:
    if data.startswith(_OLE_MAGIC):
        if _ENCRYPTED_PACKAGE in data:
            raise Unreadable("encrypted", "it is protected by a password: save it without one")
        raise Unreadable(
            "mislabelled", "it is in the old .doc format: open it in Word or LibreOffice, save it as .docx"
        )
    if not data.startswith(b"PK"):
        raise Unreadable("mislabelled", f"it is {_kind_of(data)} in spite of its suffix: rename it or leave it out")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
        raise Unreadable("damaged", f"the zip container is broken or cut short ({error}): fetch it again") from None


def _kind_of(data: bytes) -> str:
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if b"%pdf-" in head:
        return "a PDF"
    if head.startswith(b"{\\rtf"):
        return "an RTF text"
    if head.startswith((b"<!doctype html", b"<html")):
        return "a web page"
    if head.startswith(b"<?xml"):
        return "a single XML file"
    return "no Word document"


class Package:
    """The parts of a Word file by name; a context manager. Raises Unreadable where it is none."""

    def __init__(self, data: bytes) -> None:
        self._archive = _open_zip(data)
        # Names of parts ignore case, and some writers use backslashes. Of two entries with one name the later one is
        # the newer: files are appended to a zip.
        self._entries = {_key(entry.filename): entry for entry in self._archive.infolist()}
        self.main_part = self._find_main_part()
        self._main_relations = self.relations(self.main_part)

    def __enter__(self) -> "Package":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._archive.close()

    @contextmanager
    def stream(self, name: str, limit: int | None = None) -> Iterator[BoundedFile]:
        """Open a part that exists; raises Unreadable where its data is broken, also while it is read."""
        with damage_of_the_zip_as_unreadable(), self._archive.open(self._entries[_key(name)]) as member:
            yield BoundedFile(member, MAX_XML_BYTES if limit is None else limit)

    def tree(self, name: str) -> Any:
        """Return the root of a small part, or None where it is absent or no XML: such parts only help to read."""
        if _key(name) not in self._entries:
            return None
        with self.stream(name, MAX_SMALL_PART_BYTES) as file:
            data = file.read()
        try:
            root = etree.fromstring(data, etree.XMLParser(**PARSER_OPTIONS))
        except etree.XMLSyntaxError:
            return None
        refuse_doctype(root)
        return root

    def relations(self, part: str) -> dict[str, Relation]:
        """Return the relations of a part by id; the empty name stands for the package itself."""
        folder, name = PurePosixPath(part).parent, PurePosixPath(part).name
        root = self.tree(str(folder / "_rels" / f"{name}.rels"))
        relations = {}
        for relation in () if root is None else root:
            target = unquote(str(relation.get("Target", ""))).replace("\\", "/")
            if relation.get("TargetMode", "").lower() != "external":
                target = _resolve(folder, target)
            kind = str(relation.get("Type", "")).rpartition("/")[2]
            relations[str(relation.get("Id", ""))] = Relation(kind, target)
        return relations

    def related(self, kind: str) -> str | None:
        """Return the name of the part that the main part relates to as `kind`, or None where there is no such part.

        A dangling relation does no harm, and neither does a missing one where the part has its usual name.
        """
        usual = str(PurePosixPath(self.main_part).parent / f"{kind}.xml")
        targets = [relation.target for relation in self._main_relations.values() if relation.kind == kind]
        return next((name for name in [*targets, usual] if _key(name) in self._entries), None)

    def related_tree(self, kind: str) -> Any:
        """Return the root of the part that the main part relates to as `kind`, or None."""
        name = self.related(kind)
        return None if name is None else self.tree(name)

    def core_properties(self) -> Any:
        """Return the root of the part that holds title and author, or None."""
        names = [relation.target for relation in self.relations("").values() if relation.kind == "core-properties"]
        return next((root for root in map(self.tree, [*names, _CORE_PROPERTIES]) if root is not None), None)

    def _find_main_part(self) -> str:
        names = [relation.target for relation in self.relations("").values() if relation.kind == "officeDocument"]
        types = self.tree("[Content_Types].xml")
        names += [
            str(override.get("PartName", ""))
            for override in (() if types is None else types)
            if str(override.get("ContentType", "")).lower() in _MAIN_CONTENT_TYPES
        ]
        for name in (*names, _DEFAULT_MAIN_PART):
            if _key(name) in self._entries and not _key(name).startswith(_OTHER_OFFICE):
                return name.lstrip("/")
        if any(name.startswith(_OTHER_OFFICE) for name in self._entries):
            raise Unreadable(
                "mislabelled", "it is a spreadsheet, presentation or drawing: give it its own suffix or leave it out"
            )
        raise Unreadable("mislabelled", "it is a zip file without a Word document in it: unpack it, or leave it out")


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _resolve(folder: PurePosixPath, target: str) -> str:
    """Return the name of the part that a relation of a part in `folder` points at."""
    steps: list[str] = []
    for step in (target if target.startswith("/") else f"{folder}/{target}").split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
