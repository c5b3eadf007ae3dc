"""files -> documents: one row a file, whatever the file is."""

import pyarrow as pa
import pytest

from teleembed_ray import ids
from teleembed_ray.documents import kernel, reader
from teleembed_ray.documents.document import Document

FILES = pa.schema(
    [("corpus", pa.string()), ("path", pa.string()), ("data", pa.large_binary()), ("problem", pa.string())]
)


def files(*rows: tuple[str, bytes | None, str | None]) -> pa.Table:
    columns = [{"corpus": "c", "path": path, "data": data, "problem": problem} for path, data, problem in rows]
    return pa.Table.from_pylist(columns, schema=FILES)


def test_each_file_is_one_row_in_input_order_and_bad_ones_do_not_stop_the_others() -> None:
    table = kernel.documents_table(
        files(
            ("b.md", b"# B\n", None),
            ("x.pdf", b"%PDF-1.4 broken", None),
            ("gone.md", None, "no permission"),
            ("a.c", b"int a;", None),
        )
    )
    assert table.schema == kernel.SCHEMA
    assert table["path"].to_pylist() == ["b.md", "x.pdf", "gone.md", "a.c"]
    assert table["reason"].to_pylist() == [None, "damaged", "unavailable", None]
    assert table["text"].to_pylist() == ["# B\n", None, None, "int a;"]
    assert table["num_chars"].to_pylist() == [4, None, None, 6]
    assert table["doc_id"].to_pylist()[1] == ids.doc_id("c", "x.pdf", b"%PDF-1.4 broken")
    details = table["detail"].to_pylist()
    assert details[1].startswith("x.pdf: ")
    assert details[2] == "gone.md: no permission"


def test_a_parser_that_raises_anything_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(path: str, data: bytes) -> Document:
        raise KeyError("rId99")

    monkeypatch.setitem(reader.READERS, "pdf", explode)
    table = kernel.documents_table(files(("a.pdf", b"x", None), ("a.md", b"text", None)))
    assert table["reason"].to_pylist() == ["damaged", None]
    assert "KeyError" in table["detail"][0].as_py()


def test_no_files_give_an_empty_table_of_the_same_schema() -> None:
    table = kernel.documents_table(files().drop_columns(["problem"]))
    assert table.num_rows == 0
    assert table.schema == kernel.SCHEMA
