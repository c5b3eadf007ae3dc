"""DOCX reader, on files written here part by part, so that each holds exactly the trap that the test names."""

import io
import zipfile

import pytest

from teleembed_ray.documents.docx import package as reader
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.reader import read_document

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wpg="http://schemas.microsoft.com/office/word/2010/wordprocessingGroup"'
)
STYLES = (
    f'<w:styles xmlns:w="{W}">'
    '<w:style w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>'
    '<w:style w:styleId="PL"><w:name w:val="PL"/></w:style>'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def docx_bytes(body: str, parts: dict[str, str] | None = None) -> bytes:
    content = {
        "_rels/.rels": RELATIONS,
        "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": STYLES,
    } | (parts or {})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def read(body: str, parts: dict[str, str] | None = None) -> Document:
    return read_document("a.docx", docx_bytes(body, parts))


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{run(text)}</w:p>"


def control(content: str) -> str:
    return f'<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>'


def cell(content: str) -> str:
    return f"<w:tc><w:tcPr/>{content}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def test_text_in_block_content_controls_is_read_in_place_however_deep_they_nest() -> None:
    body = paragraph("before") + control(control(paragraph("INSIDE"))) + paragraph("after")
    assert read(body).text == "before\n\nINSIDE\n\nafter"


@pytest.mark.parametrize(
    "wrap",
    [
        control,
        lambda content: f'<w:hyperlink w:anchor="x">{content}</w:hyperlink>',
        lambda content: f'<w:smartTag w:element="place">{content}</w:smartTag>',
        lambda content: f'<w:fldSimple w:instr=" REF x ">{content}</w:fldSimple>',
        lambda content: f'<w:ins w:id="1">{content}</w:ins>',
        lambda content: f'<w:moveTo w:id="1">{content}</w:moveTo>',
        lambda content: f'<w:customXml w:element="e">{content}</w:customXml>',
        lambda content: f'<w:dir w:val="ltr">{content}</w:dir>',
    ],
)
def test_every_wrapper_of_a_run_is_transparent(wrap) -> None:  # type: ignore[no-untyped-def]
    assert read(f"<w:p>{run('see ')}{wrap(run('TS 38.331'))}{run(' clause 5')}</w:p>").text == "see TS 38.331 clause 5"


def test_a_content_control_that_also_holds_a_picture_keeps_its_text() -> None:
    picture = "<w:r><w:drawing/></w:r>"
    assert read(control(f"<w:p>{picture}{run('INSIDE')}</w:p>")).text == "INSIDE"


@pytest.mark.parametrize(
    "body",
    [
        table(cell(paragraph("cell"))),
        control(table(cell(paragraph("cell")))),
        "<w:tbl>" + control(f"<w:tr>{cell(paragraph('cell'))}</w:tr>") + "</w:tbl>",
        f"<w:tbl><w:tr>{control(cell(paragraph('cell')))}</w:tr></w:tbl>",
        table(cell(control(paragraph("cell")))),
    ],
)
def test_a_table_is_left_out_and_counted_wherever_a_content_control_stands(body: str) -> None:
    document = read(paragraph("before") + body + paragraph("after"))
    assert document.text == "before\n\nafter"
    assert document.num_dropped_chars == len("cell")


def test_nested_tables_and_merged_cells_are_counted_once() -> None:
    nested = table(cell(paragraph("NESTED")))
    body = table(
        f'<w:tc><w:tcPr><w:gridSpan w:val="3"/></w:tcPr>{paragraph("MERGED")}</w:tc>',
        cell(paragraph("before") + nested + paragraph("after")),
    )
    document = read(paragraph("first") + body + paragraph("last"))
    assert document.text == "first\n\nlast"
    assert document.num_dropped_chars == len("MERGED" + "before" + "NESTED" + "after")


def test_tracked_changes_read_as_accepted() -> None:
    deleted = '<w:del w:id="1"><w:r><w:delText>brown</w:delText></w:r></w:del>'
    inserted = f'<w:ins w:id="2">{run("crimson")}</w:ins>'
    moved = f'<w:moveFrom w:id="3">{run("OLD PLACE")}</w:moveFrom>'
    body = f"<w:p>{run('The quick ')}{deleted}{inserted}{run(' fox.')}{moved}</w:p><w:p>{inserted}</w:p>"
    assert read(body).text == "The quick crimson fox.\n\ncrimson"


def test_a_deleted_paragraph_mark_joins_two_paragraphs() -> None:
    mark = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    assert read(f"<w:p>{mark}{run('one ')}</w:p>{paragraph('text')}{paragraph('next')}").text == "one text\n\nnext"


def test_equations_keep_their_characters_and_one_without_text_harms_none() -> None:
    def math(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    subscript = f"<m:sSub><m:e>{math('N')}</m:e><m:sub>{math('RB')}</m:sub></m:sSub>"
    fraction = f"<m:f><m:num>{math('a')}</m:num><m:den>{math('b')}</m:den></m:f>"
    brackets = f"<m:d><m:e>{fraction}</m:e></m:d>"
    equation = f"<m:oMath>{math('E=')}<m:r><m:rPr/></m:r>{subscript}{brackets}</m:oMath>"
    assert read(f"<w:p>{run('The result is ')}{equation}{run('.')}</w:p>").text == "The result is E=N_RB(a/b)."


def test_field_instructions_are_not_text_but_results_are() -> None:
    def character(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    def field(instruction: str, result: str) -> str:
        code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
        return f"{character('begin')}{code}{character('separate')}{result}{character('end')}"

    # The inner field stands in the instruction of the outer one: its result is not shown.
    inner = f"{character('begin')}<w:r><w:instrText> IF </w:instrText></w:r>{field(' REF ', run('HIDDEN'))}"
    outer = f"{inner}{character('separate')}{run('5.2')}{character('end')}"
    # An instruction without an end must not hide the rest of the document.
    broken = f"<w:p>{run('broken ')}{character('begin')}</w:p>"
    body = f"<w:p>{run('clause ')}{outer}{run(' and ')}{field(' REF y ', run('6.1'))}</w:p>{broken}{paragraph('rest')}"
    assert read(body).text == "clause 5.2 and 6.1\n\nbroken\n\nrest"


def test_alternate_content_and_text_boxes_are_read_once_after_their_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph('BOX')}</w:txbxContent>"
    choice = (
        f'<mc:Choice Requires="wps"><w:drawing><wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp></w:drawing></mc:Choice>'
    )
    fallback = f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
    drawing = f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>"
    body = f"<w:p>{run('anchor ')}{drawing}{run('text')}</w:p>{paragraph('next')}"
    assert read(body).text == "anchor text\n\nBOX\n\nnext"
    twice = f"<mc:Choice>{paragraph('A')}</mc:Choice><mc:Fallback>{paragraph('A')}</mc:Fallback>"
    block = f"<mc:AlternateContent>{twice}</mc:AlternateContent>"
    assert read(block + paragraph("next")).text == "A\n\nnext"
    old_only = f"<w:p>{run('x')}<w:r><mc:AlternateContent>{fallback}</mc:AlternateContent></w:r></w:p>"
    assert read(old_only).text == "x\n\nBOX"


def test_labels_of_a_grouped_drawing_are_a_figure_and_are_counted() -> None:
    box = f"<wps:txbx><w:txbxContent>{paragraph('LABEL')}</w:txbxContent></wps:txbx>"
    drawing = f"<w:r><w:drawing><wpg:wgp><wps:wsp>{box}</wps:wsp></wpg:wgp></w:drawing></w:r>"
    document = read(f"<w:p>{drawing}</w:p>{paragraph('Figure 1: Lanes')}")
    assert document.text == "Figure 1: Lanes"
    assert document.num_dropped_chars == len("LABEL")


def test_a_text_box_inside_a_table_is_part_of_the_table() -> None:
    box = f"<w:r><w:pict><v:textbox><w:txbxContent>{paragraph('BOX')}</w:txbxContent></v:textbox></w:pict></w:r>"
    document = read(table(cell(f"<w:p>{run('cell')}{box}</w:p>")) + paragraph("after"))
    assert document.text == "after"
    assert document.num_dropped_chars == len("cellBOX")


def test_special_characters() -> None:
    marks = (
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/></w:r>"
    )
    symbol = (
        '<w:r><w:sym w:font="Symbol" w:char="F0A3"/><w:sym w:font="Wingdings" w:char="F0E0"/><w:sym w:char="zz"/></w:r>'
    )
    typed = run("e\u00adf\u00a0g \ufb01 \uf0ae")
    body = f"<w:p>{marks}{typed}{symbol}</w:p>"
    assert read(body).text == "a\tb\nc-def g fi \u2192\u2264\u2022"


def test_hidden_text_is_left_out_unless_the_toggle_is_off() -> None:
    hidden = run("HIDDEN", "<w:rPr><w:vanish/></w:rPr>")
    shown = run("shown", '<w:rPr><w:vanish w:val="0"/></w:rPr>')
    assert read(f"<w:p>{hidden}{shown}</w:p>").text == "shown"


def test_contents_lists_are_dropped_by_style_name_in_any_language_and_by_leader() -> None:
    leader = '<w:pPr><w:tabs><w:tab w:val="right" w:leader="dot" w:pos="9000"/></w:tabs></w:pPr>'
    entry = f"<w:p>{leader}{run('2 References')}<w:r><w:tab/></w:r>{run('17')}</w:p>"
    kept = f"<w:p>{leader}{run('no page number here')}</w:p>"
    body = paragraph("1 Scope 5", "Verzeichnis1") + entry + kept + paragraph("1 Scope", "berschrift1")
    assert read(body).text == "no page number here\n\n1 Scope"


def test_lines_of_a_listing_stay_together_with_their_indentation() -> None:
    body = (
        paragraph("A ::= SEQUENCE {", "PL") + paragraph("  b INTEGER", "PL") + paragraph("}", "PL") + paragraph("end")
    )
    assert read(body).text == "A ::= SEQUENCE {\n  b INTEGER\n}\n\nend"


def test_the_title_falls_back_from_properties_to_text_to_the_name() -> None:
    def core(title: str) -> dict[str, str]:
        return {"docProps/core.xml": f'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></c>'}

    body = paragraph("Contents") + paragraph("Widget Guide", "berschrift1")
    assert read(body, core("TS 12.345")).title == "TS 12.345"
    for nothing in ("", "Document1", "Untitled", "Microsoft Word - ", "3GPP spec skeleton", "O-RAN TS Template"):
        assert read(body, core(nothing)).title == "Widget Guide"
    assert read_document("x/24229-i40.docx", docx_bytes(paragraph("Contents"))).title == "24229-i40"


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


def _reason(data: bytes, path: str = "a.docx") -> str:
    with pytest.raises(Unreadable) as caught:
        read_document(path, data)
    assert len(caught.value.detail) > 10
    return caught.value.reason


def test_every_kind_of_damage_has_its_own_reason() -> None:
    good = docx_bytes(paragraph("word " * 5000))
    at = good.index(b"word/document.xml") + 200
    flipped = good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]
    ole = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512)
    assert _reason(good[: len(good) // 2]) == "damaged"
    assert _reason(flipped) == "damaged"
    assert _reason(ole) == "mislabelled"
    assert _reason(ole + "EncryptedPackage".encode("utf-16-le")) == "encrypted"
    assert _reason(b"\x07\x11\x9f") == "mislabelled"
    assert _reason(b"%PDF-1.7 ...") == "mislabelled"
    assert _reason(b"") == "empty_file"
    assert _reason(docx_bytes("<w:p/>")) == "no_text"
    assert _reason(docx_bytes(table(cell(paragraph("only a table"))))) == "no_text"
    assert _reason(docx_bytes("<w:p><w:r>")) == "damaged"
    assert _reason(good, "a.odt") == "unsupported"


def test_a_workbook_named_docx_is_mislabelled() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert _reason(buffer.getvalue()) == "mislabelled"


def test_a_zip_bomb_is_stopped_by_what_it_inflates_to(monkeypatch: pytest.MonkeyPatch) -> None:
    data = docx_bytes(paragraph("a" * 100) * 20_000)
    assert len(data) < 50_000
    monkeypatch.setattr(reader, "MAX_XML_BYTES", 1 << 20)
    assert _reason(data) == "too_large"


def test_a_document_type_is_refused_since_entities_could_hide_text_or_fetch_files() -> None:
    xml = (
        '<!DOCTYPE d [<!ENTITY a "EXPANDED"><!ENTITY b SYSTEM "file:///etc/hostname">]>'
        f"<w:document {NAMESPACES}><w:body>{paragraph('x&a;&b;y')}{paragraph('z')}</w:body></w:document>"
    )
    assert _reason(docx_bytes("", {"word/document.xml": xml})) == "damaged"
