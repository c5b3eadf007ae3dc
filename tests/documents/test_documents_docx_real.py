"""Published specifications: python-docx and Word's own contents lists are the independent witnesses."""

import io
import re
from collections import Counter
from pathlib import Path

import docx
import pytest
from docx.oxml.ns import qn

from teleembed_ray.documents.characters import clean_prose
from teleembed_ray.documents.docx.reader import Body, docx_blocks, read_docx

pytestmark = pytest.mark.real

CONTENTS_STYLE = re.compile(r"(?i)toc|table of figures")
CONTENTS_LINE = re.compile(r"\t[\divxlc]+\s*$")
# In these files the numbers of headings do not agree with the contents list. E2TS: a heading whose list is not that of
# its neighbours was added after Word last wrote the contents. CGofOTIC and E2AP were made from a PDF, where the lines
# of the contents are items of a list, or a clause's letter is parted from its number.
STALE_CONTENTS = {
    "O-RAN.WG3.E2TS-R003-v02.00.docx": 21,
    "O-RAN.TIFG.CGofOTIC.0-v06.00.docx": 29,
    "O-RAN.WG3.TS.E2AP-R004-v07.00.docx": 0,
    # A capital letter differs, and a table of tables names a caption by another number.
    "37213-i10.docx": 1,
    "O-RAN.WG6.AAL-MUMIMO-BF-Calc-Profile-R004-v01.01.docx": 2,
}


def squeezed(text: str) -> str:
    """Return text without white space and without the separators of what one side writes and the other not."""
    return "".join(clean_prose(text).split())


def files(real_data: Path) -> list[Path]:
    return sorted(real_data.glob("*/*.docx"))


def why_absent(paragraph: docx.text.paragraph.Paragraph, text: str) -> str | None:
    """Name the reason why python-docx has a paragraph that our text must not have as it is, or None."""
    style = str(paragraph.style and paragraph.style.name)
    if CONTENTS_STYLE.match(style) or CONTENTS_LINE.search(text):
        return "contents list"
    element = paragraph._p
    if next(element.iter(qn("w:vanish"), qn("w:specVanish")), None) is not None:
        return "hidden text"
    if next(element.iter(qn("w:del"), qn("w:ins"), qn("w:moveFrom")), None) is not None:
        return "tracked change"
    if next(element.iter("{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"), None) is not None:
        return "equation"
    symbols = (
        qn("w:sym"),
        qn("w:sdt"),
        qn("w:smartTag"),
        qn("w:ptab"),
        qn("w:fldSimple"),
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent",
    )
    if next(element.iter(*symbols), None) is not None:
        return "wrapper or symbol that python-docx skips"
    return None


def test_every_paragraph_that_python_docx_sees_is_in_the_text_in_order(real_data: Path) -> None:
    found: Counter[str] = Counter()
    missing = []
    for path in files(real_data):
        data = path.read_bytes()
        text = squeezed(read_docx(path.name, data).text)
        position = 0
        for paragraph in docx.Document(io.BytesIO(data)).paragraphs:
            wanted = squeezed(paragraph.text)
            if not wanted:
                continue
            reason = why_absent(paragraph, paragraph.text)
            at = text.find(wanted, 0 if reason else position)
            # One that may be absent can be found at another's place, and says nothing about the order.
            if at >= 0:
                position = position if reason else at + len(wanted)
                reason = "found"
            found[reason or "unexplained"] += 1
            if reason is None:
                missing.append((path.name, paragraph.text))
    total = sum(found.values())
    print({reason: f"{count / total:.2%}" for reason, count in found.items()})
    assert missing == []
    assert found["found"] > 25_000
    assert found["found"] > 0.85 * total


def test_numbers_of_headings_are_those_of_the_contents_that_word_wrote(real_data: Path) -> None:
    num_lines = 0
    for path in files(real_data):
        blocks = list(docx_blocks(path.read_bytes()))
        texts = {squeezed(block.text) for block in blocks if block.kind != "contents"}
        lines = [CONTENTS_LINE.sub("", block.text) for block in blocks if block.kind == "contents"]
        wrong = [line for line in lines if squeezed(line) not in texts]
        num_lines += len(lines)
        assert len(wrong) == STALE_CONTENTS.get(path.name, 0), (path.name, wrong)
    assert num_lines > 4000


@pytest.mark.parametrize("keep_tables", [False, True])
def test_the_reader_by_shapes_reads_what_the_parser_reads(real_data: Path, keep_tables: bool) -> None:
    for path in files(real_data):
        data = path.read_bytes()
        fast, parsed = read_docx(path.name, data, keep_tables=keep_tables), Body(keep_tables).add(docx_blocks(data))
        assert fast.text == "\n\n".join(parsed.paragraphs), path.name
        assert fast.num_dropped_chars == parsed.num_dropped_chars, path.name
