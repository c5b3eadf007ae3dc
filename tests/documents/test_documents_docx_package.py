"""The container of a Word file: names, relations, encodings, damage, and what is no Word file at all."""

import io
import zipfile

import pytest
from docx_parts import NAMESPACES, W, cell, docx_bytes, paragraph, read, reason_of, run, table

from teleembed_ray.documents.docx import package as reader
from teleembed_ray.documents.docx.reader import docx_blocks
from teleembed_ray.documents.reader import read_document

TEXT = f"<w:document {NAMESPACES}><w:body>{paragraph('text')}</w:body></w:document>"
MAIN_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"


def zipped(*members: tuple[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def package_relation(target: str) -> tuple[str, str]:
    relation = f'<Relationship Id="r1" Type="{OFFICE_DOCUMENT}" Target="{target}"/>'
    return "_rels/.rels", f'<Relationships xmlns="{RELATIONS}">{relation}</Relationships>'


def text_of(data: bytes) -> str:
    return read_document("a.docx", data).text


@pytest.mark.parametrize(
    "target", ["/docs/main file.xml", "docs/main%20file.xml", "docs\\main file.xml", "./x/../docs/Main file.xml"]
)
def test_the_main_part_is_found_under_any_name(target: str) -> None:
    assert text_of(zipped(package_relation(target), ("docs/main file.xml", TEXT))) == "text"


@pytest.mark.parametrize("kind", [MAIN_TYPE, "application/vnd.ms-word.template.macroEnabledTemplate.main+xml"])
def test_without_relations_the_content_type_names_the_main_part(kind: str) -> None:
    types = f'<Types xmlns="{TYPES}"><Override PartName="/odd/story.xml" ContentType="{kind}"/></Types>'
    assert text_of(zipped(("[Content_Types].xml", types), ("odd/story.xml", TEXT))) == "text"


def test_backslashes_and_capitals_in_names_of_parts_are_read() -> None:
    assert text_of(zipped(package_relation("word/document.xml"), ("Word\\Document.XML", TEXT))) == "text"


def test_of_two_entries_with_one_name_the_later_is_read() -> None:
    old = TEXT.replace("text", "OLD")
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(("word/document.xml", old), ("word/document.xml", TEXT))
    assert text_of(data) == "text"


def test_notes_are_found_through_relations_and_a_missing_part_does_no_harm() -> None:
    relation = '<Relationship Id="r{}" Type="x/{}" Target="{}"/>'
    relations = relation.format(1, "footnotes", "odd/notes1.xml") + relation.format(2, "endnotes", "gone.xml")
    parts = {
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELATIONS}">{relations}</Relationships>',
        "word/odd/notes1.xml": f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2">{paragraph("NOTE")}</w:footnote>'
        "</w:footnotes>",
    }
    references = '<w:r><w:footnoteReference w:id="2"/><w:endnoteReference w:id="2"/></w:r>'
    assert read(f"<w:p>{run('text')}{references}</w:p>", parts).text == "text\n\nNOTE"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_other_encodings_and_byte_order_marks_are_read(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    xml = f'<?xml version="1.0" encoding="{name}"?>' + TEXT.replace("text", "gr\u00f6\u00dfer &#8804; &amp;")
    assert text_of(zipped(("word/document.xml", xml.encode(encoding)))) == "gr\u00f6\u00dfer \u2264 &"


def test_bytes_of_another_encoding_are_not_taken_for_utf8_because_they_could_be() -> None:
    xml = '<?xml version="1.0" encoding="iso-8859-1"?>' + TEXT.replace("text", "\u00c3\u00b6")
    assert text_of(zipped(("word/document.xml", xml.encode("iso-8859-1")))) == "\u00c3\u00b6"


def test_another_prefix_comments_and_cdata_are_read_like_any_xml() -> None:
    other = TEXT.replace("<w:", "<q:").replace("</w:", "</q:").replace("xmlns:w=", "xmlns:q=")
    assert text_of(zipped(("word/document.xml", other))) == "text"
    remark = TEXT.replace(">text<", ">te<!-- </w:t></w:r></w:p> -->xt<")
    assert text_of(zipped(("word/document.xml", remark))) == "text"
    raw = TEXT.replace(">text<", "><![CDATA[a </w:p> b]]><")
    assert text_of(zipped(("word/document.xml", raw))) == "a </w:p> b"
    quoted = TEXT.replace(">text<", "><![CDATA[a <w:t>b</w:t>]]><")
    assert text_of(zipped(("word/document.xml", quoted))) == "a <w:t>b</w:t>"
    rebound = TEXT.replace("<w:body>", f'<w:body><w:p xmlns:w="other">{run("NO")}</w:p>')
    assert text_of(zipped(("word/document.xml", rebound))) == "text"


def test_what_word_imports_when_it_opens_a_file_is_refused_and_not_lost_in_silence() -> None:
    assert reason_of(docx_bytes(paragraph("text") + '<w:altChunk w:id="r9"/>')) == "unsupported"


def test_a_flipped_letter_in_stored_text_is_damage_although_the_xml_is_fine() -> None:
    data = zipped(("word/document.xml", TEXT.replace("text", "SECRET")), method=zipfile.ZIP_STORED)
    assert text_of(data) == "SECRET"
    assert reason_of(data.replace(b"SECRET", b"SECRIT")) == "damaged"


@pytest.mark.parametrize(
    "body",
    [
        "<w:p><w:r><w:t>a</w:t></w:p></w:r>",
        f"{paragraph('a')}<w:tbl><w:tr></w:tbl></w:tr>{paragraph('b')}",
        f"{paragraph('a')}<w:p><w:r><w:t>b & c</w:t></w:r></w:p>",
        f"{paragraph('a')}<w:p><w:r><w:t>b &nbsp; c</w:t></w:r></w:p>",
        f"{paragraph('a')}<w:p><w:r>\0<w:t>b</w:t></w:r></w:p>",
        f"{paragraph('a')}</w:body></w:document>{paragraph('b')}<w:x><w:x>",
    ],
)
def test_xml_that_is_not_well_formed_is_damage_wherever_it_breaks(body: str) -> None:
    assert reason_of(docx_bytes(body)) == "damaged"


def test_a_main_part_that_stops_between_two_paragraphs_is_damage() -> None:
    for rest in ("</w:body></w:document>", "</w:document>"):
        assert reason_of(zipped(("word/document.xml", TEXT.removesuffix(rest)))) == "damaged"


def test_a_web_page_and_a_rich_text_are_named() -> None:
    for data, word in ((b"<!DOCTYPE html><p>", "web page"), (b"<?xml version='1.0'?><w:x/>", "XML")):
        with pytest.raises(reader.Unreadable, match=word):
            list(docx_blocks(data))


def test_a_member_with_a_password_is_encrypted() -> None:
    data = bytearray(docx_bytes(paragraph("text")))
    # The flag of encryption, in the central directory and before the data.
    for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = -1
        while (at := data.find(signature, at + 1)) >= 0:
            data[at + offset] |= 1
    assert reason_of(bytes(data)) == "encrypted"


def test_broken_parts_beside_the_text_do_no_harm() -> None:
    dangling = '<Relationships xmlns="r"><Relationship Id="rId99" Type="x/image" Target="NULL"/></Relationships>'
    footnote = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    parts = {"word/_rels/document.xml.rels": dangling, "word/styles.xml": "<broken", "docProps/core.xml": ""}
    assert read(f"<w:p>{run('text')}{footnote}</w:p>", parts).text == "text"


def test_the_strict_variant_is_read() -> None:
    data = docx_bytes(paragraph("strict"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        xml = archive.read("word/document.xml").decode().replace(W, "http://purl.oclc.org/ooxml/wordprocessingml/main")
    assert read("", {"word/document.xml": xml}).text == "strict"


def test_every_kind_of_damage_has_its_ownreason_of() -> None:
    good = docx_bytes(paragraph("word " * 5000))
    at = good.index(b"word/document.xml") + 200
    flipped = good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]
    ole = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512)
    assert reason_of(good[: len(good) // 2]) == "damaged"
    assert reason_of(flipped) == "damaged"
    assert reason_of(ole) == "mislabelled"
    assert reason_of(ole + "EncryptedPackage".encode("utf-16-le")) == "encrypted"
    assert reason_of(b"\x07\x11\x9f") == "mislabelled"
    assert reason_of(b"%PDF-1.7 ...") == "mislabelled"
    assert reason_of(b"") == "empty_file"
    assert reason_of(docx_bytes("<w:p/>")) == "no_text"
    assert reason_of(docx_bytes(table(cell(paragraph("only a table"))))) == "no_text"
    assert reason_of(docx_bytes("<w:p><w:r>")) == "damaged"
    assert reason_of(good, "a.odt") == "unsupported"


def test_a_workbook_named_docx_is_mislabelled() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert reason_of(buffer.getvalue()) == "mislabelled"


def test_a_zip_bomb_is_stopped_by_what_it_inflates_to(monkeypatch: pytest.MonkeyPatch) -> None:
    data = docx_bytes(paragraph("a" * 100) * 20_000)
    assert len(data) < 50_000
    monkeypatch.setattr(reader, "MAX_XML_BYTES", 1 << 20)
    assert reason_of(data) == "too_large"


def test_a_document_type_is_refused_since_entities_could_hide_text_or_fetch_files() -> None:
    xml = (
        '<!DOCTYPE d [<!ENTITY a "EXPANDED"><!ENTITY b SYSTEM "file:///etc/hostname">]>'
        f"<w:document {NAMESPACES}><w:body>{paragraph('x&a;&b;y')}{paragraph('z')}</w:body></w:document>"
    )
    assert reason_of(docx_bytes("", {"word/document.xml": xml})) == "damaged"
