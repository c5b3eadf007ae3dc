"""One specification, published as DOCX and as PDF: the two readers are each other's witness."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from teleembed_ray.documents.document import Document
from teleembed_ray.documents.reader import read_document

NAME = "oran/O-RAN.WG3.TS.E2AP-R004-v07.00"
MIN_FRACTION = 0.97
MIN_WORDS = 3

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def documents(real_data: Path) -> tuple[Document, Document]:
    files = (real_data / f"{NAME}.docx", real_data / f"{NAME}.pdf")
    docx, pdf = (read_document(file.name, file.read_bytes()) for file in files)
    return docx, pdf


def normalised(text: str) -> str:
    """Take away how a text is set: blanks, forms of quotes and hyphens.

    The DOCX has a blank behind hyphens that once ended a line ("Near- RT RIC"): blanks behind a hyphen are blanks.
    """
    for pattern, plain in (
        ("[\u2018\u2019\u201a\u201b\u2032`]", "'"),
        ("[\u201c\u201d\u201e\u2033]", '"'),
        ("[\u2010-\u2015\u2212]", "-"),
        ("\u00ad", ""),
        (r"\s+", " "),
        (r"(?<=\w)- (?=\w)", "-"),
    ):
        text = re.sub(pattern, plain, text)
    return text.strip()


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences, and the lines of listings, of three words or more; headings without their numbers."""
    for line in re.split(r"\n+", re.sub(r"(?m)^[A-Z]?\d*(\.\d+)+( ?[A-Z])?\s+(?=[A-Z])", "", text)):
        for sentence in re.split(r'(?<=[.!?;:])\s+(?=[A-Z"(])', line):
            if len(sentence.split()) >= MIN_WORDS:
                yield normalised(sentence)


def body(text: str) -> str:
    """Return what follows the contents list."""
    return text[text.index("\n\nForeword\n\n") :]


def test_the_sentences_of_the_docx_are_in_the_text_of_the_pdf(documents: tuple[Document, Document]) -> None:
    docx, pdf = documents
    wanted = list(sentences(body(docx.text)))
    text = normalised(pdf.text)
    missing = [sentence for sentence in wanted if sentence not in text]
    fraction = 1 - len(missing) / len(wanted)
    print(f"{len(wanted) - len(missing)} of {len(wanted)} sentences: {fraction:.4f}; missing: {missing[:20]}")
    assert len(wanted) > 1500
    assert fraction >= MIN_FRACTION


def test_the_pdf_says_nothing_that_the_docx_does_not_say(documents: tuple[Document, Document]) -> None:
    docx, pdf = documents
    text = normalised(docx.text)
    # Numbers of headings and marks of lists are computed by Word, and no text of the DOCX.
    mark = re.compile(r"(\S{1,3} |NOTE( \d+)?: ?|[A-Z]?\d+(\.\d+)*[A-Z]? |\[\d+\] ?)")
    found = [sentence for sentence in sentences(body(pdf.text)) if len(sentence.split()) > MIN_WORDS + 1]
    alien = [sentence for sentence in found if sentence not in text and mark.sub("", sentence, count=1) not in text]
    print(f"{len(found) - len(alien)} of {len(found)} sentences; not in the DOCX: {alien[:20]}")
    assert len(alien) <= (1 - MIN_FRACTION) * len(found)


def test_running_lines_contents_and_tables_of_the_pdf_are_left_out(documents: tuple[Document, Document]) -> None:
    docx, pdf = documents
    assert "Your use is subject to the copyright statement" not in pdf.text
    assert pdf.text.count("O-RAN.WG3.TS.E2AP-R004-v07.00") <= 3
    assert not re.search(r"\.{6,}", pdf.text)
    assert "IE/Group Name" not in pdf.text
    assert pdf.num_dropped_chars == pytest.approx(docx.num_dropped_chars, rel=0.15)
    assert pdf.num_unmapped_chars == 0
