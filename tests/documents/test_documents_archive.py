"""A ZIP is as many documents as it has members: each once, none outside of it, and none that fills the memory."""

import io
import struct
import warnings
import zipfile

import pyarrow as pa
import pytest

from teleembed_ray import ids
from teleembed_ray.documents import archive
from teleembed_ray.documents.archive import members
from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.kernel import documents_table
from teleembed_ray.globs import selects


def packed(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, data in entries:
            made.writestr(name, data)
    return buffer.getvalue()


def found(data: bytes, path: str = "a.zip") -> dict[str, str | bytes]:
    """Bytes or reason by path; a path that comes twice fails."""
    result: dict[str, str | bytes] = {}
    for member in members(path, data):
        assert member.path not in result
        try:
            result[member.path] = member.read()
        except Unreadable as error:
            result[member.path] = error.reason
    return result


def table_of(data: bytes, path: str = "a.zip", **options: object) -> pa.Table:
    schema = pa.schema([("corpus", pa.string()), ("path", pa.string()), ("data", pa.large_binary())])
    rows = pa.Table.from_pylist([{"corpus": "c", "path": path, "data": data}], schema=schema)
    return documents_table(rows, **options)  # type: ignore[arg-type]


def test_each_member_is_a_row_with_an_id_of_its_own_path_and_bytes() -> None:
    inner = packed(("38331-i40.md", b"# RRC\n"), ("cover.md", b"# Cover\n"))
    data = packed(
        ("38331-i40/", b""), ("38331-i40/a.md", b"# A\n"), ("b.MD", b"# B\n"), ("i.ZIP", inner), ("p.vsd", b"x")
    )
    table = table_of(data, "rel18/38331-i40.zip")
    root = "rel18/38331-i40.zip"
    assert table["path"].to_pylist() == [
        *(f"{root}/38331-i40/a.md", f"{root}/b.MD"),
        *(f"{root}/i.ZIP/38331-i40.md", f"{root}/i.ZIP/cover.md", f"{root}/p.vsd"),
    ]
    assert table["text"].to_pylist() == ["# A\n", "# B\n", "# RRC\n", "# Cover\n", None]
    assert table["reason"].to_pylist() == [None] * 4 + ["unsupported"]
    assert table["doc_id"][0].as_py() == ids.doc_id("c", f"{root}/38331-i40/a.md", b"# A\n")
    assert table["num_unmapped_chars"].to_pylist() == [0, 0, 0, 0, None]


@pytest.mark.parametrize(
    "name", ["../up.md", "a/../../up.md", "/etc/passwd.md", "C:\\windows\\x.md", "..\\up.md", "\\\\host\\share\\x.md"]
)
def test_a_name_that_leads_out_of_the_archive_is_refused_and_accounted_for(name: str) -> None:
    reasons = found(packed((name, b"# Up\n"), ("fine.md", b"# Fine\n")))
    assert list(reasons.values()) == ["unsafe_name", b"# Fine\n"]


def test_windows_separators_and_two_of_one_name() -> None:
    data = packed(("doc\\a.md", b"first"), ("doc/a.md", b"second"), ("doc\\b.md", b"b"))
    assert [member.path for member in members("a.zip", data)] == ["a.zip/doc/a.md", "a.zip/doc/a.md", "a.zip/doc/b.md"]
    table = table_of(data)
    assert table["reason"].to_pylist() == ["duplicate", None, None]
    assert table["text"].to_pylist() == [None, "second", "b"]
    assert len(set(table["doc_id"].to_pylist())) == 3


def test_encrypted_damaged_and_oddly_packed_members_do_not_stop_the_others() -> None:
    data = bytearray(packed(("a.md", b"alpha" * 50), ("b.md", b"beta"), ("c.md", b"gamma"), ("d.md", b"delta")))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as made:
        central = made.start_dir
        offsets = [info.header_offset for info in made.infolist()]
    for name, at, value in ((b"b.md", 8, 0x1), (b"c.md", 10, 9)):
        # Flag "encrypted"; method 9 is Deflate64, which Windows uses above 2 GB.
        entry = data.index(name, central) - 46
        struct.pack_into("<H", data, entry + at, value)
    # The first byte of packed data: 30 bytes of header, then the name.
    data[offsets[0] + 34] ^= 0xFF
    assert found(bytes(data)) == {
        "a.zip/a.md": "damaged",
        "a.zip/b.md": "encrypted",
        "a.zip/c.md": "damaged",
        "a.zip/d.md": b"delta",
    }


def test_a_wrong_checksum_is_damage() -> None:
    data = packed(("a.md", b"alpha beta"), method=zipfile.ZIP_STORED).replace(b"alpha beta", b"alpha Beta")
    assert found(data) == {"a.zip/a.md": "damaged"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty_file"),
        (b"\x1f\x8b\x08 no zip", "mislabelled"),
        (packed(("a.md", b"x" * 5000))[:60], "damaged"),
        (packed(), "empty_archive"),
        (packed(("folder/", b"")), "empty_archive"),
        (packed((".DS_Store", b"x"), ("__MACOSX/._a.md", b"x"), ("~$a.docx", b"x")), "empty_archive"),
    ],
)
def test_an_archive_without_documents_is_one_row_that_says_why(data: bytes, reason: str) -> None:
    table = table_of(data, selects=lambda path: selects(path, ["**/*"], []))
    assert table["path"].to_pylist() == ["a.zip"]
    assert table["reason"].to_pylist() == [reason]


def test_the_corpus_globs_hold_for_members() -> None:
    data = packed(("keep.md", b"keep"), ("test/drop.md", b"drop"))
    table = table_of(data, selects=lambda path: "test" not in path)
    assert table["path"].to_pylist() == ["a.zip/keep.md"]


def test_an_archive_in_an_archive_in_an_archive_is_not_opened() -> None:
    third = packed(("deep.md", b"deep"))
    data = packed(("second.zip", packed(("third.zip", third), ("a.md", b"a"))))
    assert found(data) == {"a.zip/second.zip/third.zip": "nested_too_deep", "a.zip/second.zip/a.md": b"a"}


def test_a_bomb_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(("bomb.md", bytes(archive.MIN_RATIO_BYTES + 1)), ("small.md", bytes(9)))
    assert found(data)["a.zip/bomb.md"] == "too_large"
    assert found(data)["a.zip/small.md"] == bytes(9)
    # Text that deflates well and is small stays a text.
    assert found(packed(("a.md", b"word " * 100_000)))["a.zip/a.md"] == b"word " * 100_000
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 8)
    assert set(found(data).values()) == {"too_large"}


def test_a_size_that_is_written_too_small_does_not_let_more_through() -> None:
    data = bytearray(packed(("a.md", b"x" * 100_000)))
    entry = data.index(b"PK\1\2")
    struct.pack_into("<I", data, entry + 24, 10)
    assert found(bytes(data)) == {"a.zip/a.md": "damaged"}


def test_all_members_together_stay_within_the_limit_nested_ones_included(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 1000)
    nested = packed(("b.md", b"b" * 300), method=zipfile.ZIP_STORED)
    data = packed(("a.md", b"a" * 300), ("n.zip", nested), ("c.md", b"c" * 300))
    reasons = found(data)
    assert reasons["a.zip/a.md"] == b"a" * 300
    assert reasons["a.zip/c.md"] == "too_large"
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    assert found(data) == {"a.zip": "too_large"}
