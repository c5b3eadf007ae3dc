"""Word files written part by part, so that each holds exactly the trap that a test names."""

import io
import zipfile

import pytest

from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.docx.reader import Body, docx_blocks
from teleembed_ray.documents.reader import read_document

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
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


def read(body: str, parts: dict[str, str] | None = None, keep_tables: bool = False) -> Document:
    """Read a body, and check that the reader by shapes and the one by libxml2 say the same."""
    data = docx_bytes(body, parts)
    document = read_document("a.docx", data, keep_tables=keep_tables)
    parsed = Body(keep_tables).add(docx_blocks(data))
    assert "\n\n".join(parsed.paragraphs) == document.text
    assert parsed.num_dropped_chars == document.num_dropped_chars
    return document


def blocks(body: str, parts: dict[str, str] | None = None) -> list[tuple[str, str, int]]:
    """Return kind, text and level of each block."""
    return [(kind, text, level) for kind, text, level, _ in docx_blocks(docx_bytes(body, parts))]


def numbered(text: str, num_id: int | None = None, level: int | None = None, style: str = "") -> str:
    """Return a paragraph with a place in a list."""
    place = "" if level is None else f'<w:ilvl w:val="{level}"/>'
    place += "" if num_id is None else f'<w:numId w:val="{num_id}"/>'
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}<w:numPr>{place}</w:numPr></w:pPr>{run(text)}</w:p>"


def level_xml(number: int, text: str, number_format: str = "decimal", more: str = "", start: int | None = 1) -> str:
    """Return one level of a list; `more` is what else it says."""
    begin = "" if start is None else f'<w:start w:val="{start}"/>'
    return (
        f'<w:lvl w:ilvl="{number}">{begin}<w:numFmt w:val="{number_format}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'
    )


def numbering_part(
    *levels: str, nums: str = '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
) -> dict[str, str]:
    """Return a numbering part with one abstract definition, which list 1 uses."""
    abstract = f'<w:abstractNum w:abstractNumId="0">{"".join(levels)}</w:abstractNum>'
    return {"word/numbering.xml": f'<w:numbering xmlns:w="{W}" xmlns:mc="{MC}">{abstract}{nums}</w:numbering>'}


def styles_part(*styles: str) -> dict[str, str]:
    """Return a part with these styles."""
    return {"word/styles.xml": f'<w:styles xmlns:w="{W}">{"".join(styles)}</w:styles>'}


def style(style_id: str, name: str, inner: str = "", kind: str = "paragraph") -> str:
    """Return a style; `inner` is what it says beside its name."""
    return f'<w:style w:type="{kind}" w:styleId="{style_id}"><w:name w:val="{name}"/>{inner}</w:style>'


def reason_of(data: bytes, path: str = "a.docx") -> str:
    """Return why a file is refused, after a look at whether the detail says enough."""
    with pytest.raises(Unreadable) as caught:
        read_document(path, data)
    assert len(caught.value.detail) > 20
    return caught.value.reason


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
