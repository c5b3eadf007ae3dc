"""Published specifications, read whole: python-docx is the independent witness."""

import re
import zipfile
from pathlib import Path

import docx
import pytest
from lxml import etree

from teleembed_ray.documents.reader import read_document

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Small and middle-sized, from both bodies.
NAMES = (
    "3gpp/22926-i00.docx",
    "3gpp/38215-i10.docx",
    "oran/O-RAN.TIFG.CGofOTIC.0-v06.00.docx",
    "oran/O-RAN.WG3.TS.E2SM-R004-v07.00.docx",
)

pytestmark = pytest.mark.real


def _words(text: str) -> str:
    return " ".join(text.replace("\u00ad", "").replace("\uf0b7", "\u2022").split())


@pytest.mark.parametrize("name", NAMES)
def test_every_paragraph_that_python_docx_sees_is_in_the_text(real_data: Path, name: str) -> None:
    text = _words(read_document(name, (real_data / name).read_bytes()).text)
    paragraphs = [
        _words(paragraph.text)
        for paragraph in docx.Document(str(real_data / name)).paragraphs
        if not re.match(r"(?i)toc|table of figures", str(paragraph.style and paragraph.style.name))
        # A contents line without its style.
        and not re.search(r"\t\d+$", paragraph.text.rstrip())
    ]
    missing = [paragraph for paragraph in paragraphs if paragraph not in text]
    assert missing == []
    assert sum(map(len, paragraphs)) > 5000


@pytest.mark.parametrize("name", NAMES)
def test_text_and_left_out_tables_add_up_to_all_text_of_the_file(real_data: Path, name: str) -> None:
    """No text but that of contents lists, drawn figures and text boxes written twice is unaccounted for."""
    document = read_document(name, (real_data / name).read_bytes())
    with zipfile.ZipFile(real_data / name) as archive:
        root = etree.fromstring(archive.read("word/document.xml"))
    num_all = sum(len(element.text or "") for element in root.iter(f"{W}t"))
    num_contents = sum(
        len(element.text or "")
        for style in root.iter(f"{W}pStyle")
        if style.get(f"{W}val", "").startswith(("TOC", "TableofFigures"))
        for element in style.getparent().getparent().iter(f"{W}t")
    )
    num_ours = len(document.text) + document.num_dropped_chars
    assert num_ours == pytest.approx(num_all - num_contents, rel=0.06)


def test_a_pdf_and_a_docx_of_one_specification_say_the_same(real_data: Path) -> None:
    name = "oran/O-RAN.WG3.TS.E2AP-R004-v07.00"
    texts = [
        read_document(f"{name}{suffix}", (real_data / f"{name}{suffix}").read_bytes()) for suffix in (".pdf", ".docx")
    ]
    pdf_text, docx_text = (_words(document.text) for document in texts)
    sentences = [_words(part) for part in texts[1].text.split("\n\n") if len(part) > 120 and "\t" not in part]
    found = sum(sentence in pdf_text for sentence in sentences)
    assert found > 0.9 * len(sentences) > 100
    assert len(pdf_text) == pytest.approx(len(docx_text), rel=0.1)
    # The running header of every page.
    assert pdf_text.count("O-RAN.WG3.TS.E2AP-R004-v07.00") <= 3
