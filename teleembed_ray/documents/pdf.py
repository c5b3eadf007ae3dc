"""PDF -> text, by PDFium.

What is left out, and where it is decided:

- running headers, footers, page numbers, stamps, contents lists: `pdf_running`;
- tables, and the labels of drawings; their characters are counted: `pdf_tables`;
- text that runs another way than most of its page: stamps, and labels of an axis, which are counted.

What stays: captions, footnotes where they stand, and the invisible text that text recognition puts behind a scan.

PDFium is not thread-safe: in threads it returns empty text without an error. Nothing here starts one, and a caller
must not either.
"""

import re
from collections.abc import Sequence
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from teleembed_ray.documents.characters import clean_prose, num_unmapped
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.pdf_columns import in_reading_order
from teleembed_ray.documents.pdf_layout import Line
from teleembed_ray.documents.pdf_page import Page, read_page
from teleembed_ray.documents.pdf_paragraphs import paragraphs
from teleembed_ray.documents.pdf_running import repeated_texts, without_contents, without_running_lines
from teleembed_ray.documents.pdf_tables import aligned_lines, figure_labels, ruled_lines, with_table_rows
from teleembed_ray.documents.titles import choose_title

MAX_PAGES = 20_000
# A scan often carries a stamp or a page number as text.
MIN_CHARS_PER_PAGE = 20
MAX_UNMAPPED_FRACTION = 0.3
# The page that a viewer without the feature shows in place of the document is short.
_MAX_SHELL_CHARS = 1500
_XFA_FORMS = (pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND)


def _open(data: bytes) -> Any:
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("mislabelled", "it is no PDF in spite of its suffix: give it the right one, or leave it out")
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code in (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY):
            raise Unreadable("encrypted", "it needs a password to be opened: save it without one") from None
        raise Unreadable("damaged", f"PDFium cannot open it ({error}): fetch it again or print it anew") from None


def _read_pages(pdf: Any) -> list[Page]:
    pages = []
    for index in range(len(pdf)):
        try:
            page = pdf[index]
        except pdfium.PdfiumError:
            detail = f"its page {index + 1} of {len(pdf)} cannot be read: fetch it again or print it anew"
            raise Unreadable("damaged", detail) from None
        try:
            pages.append(read_page(page))
        finally:
            page.close()
    return pages


def _refuse_shell(pdf: Any, pages: Sequence[Page]) -> None:
    """Refuse a file whose only page says that its viewer cannot show the document."""
    text = " ".join(line.text for page in pages for line in page.lines)
    if len(pages) > 1 or len(text) > _MAX_SHELL_CHARS:
        return
    if pdf.get_formtype() in _XFA_FORMS and text.startswith("Please wait"):
        raise Unreadable("xfa_form", "its content is an XFA form that only Adobe Reader shows: print it to a PDF there")
    if pdf.count_attachments() and "portfolio" in text.lower():
        raise Unreadable("portfolio", "its documents are attachments: save them as files of their own")


def _refuse_without_text(pages: Sequence[Page]) -> None:
    text = "".join(line.text for page in pages for line in page.lines)
    if len(text) < MIN_CHARS_PER_PAGE * len(pages) and any(page.drawing.has_image for page in pages):
        raise Unreadable("scanned", "its pages are images: run text recognition (OCR) over it first")
    if not text:
        raise Unreadable("no_text", "it has no text: leave it out")
    if num_unmapped(text) > MAX_UNMAPPED_FRACTION * len(text):
        raise Unreadable("garbled", "its fonts do not say which characters they draw: run text recognition (OCR)")


def _largest_line(pages: Sequence[Page]) -> str:
    """Return the text in the largest font of the first page, the usual place of a title."""
    lines = pages[0].lines
    size = max((line.size for line in lines), default=0.0)
    largest = " ".join(line.text for line in lines if line.size > 0.95 * size)
    # A document number is often too long for one line.
    return re.sub(r"(?<=\w)- (?=\w)", "-", largest)


def _num_turned_chars(pages: Sequence[Page]) -> int:
    """Count the characters that run another way than their page, stamps aside."""
    turned = [(number, text) for number, page in enumerate(pages) for text in page.turned_texts]
    stamps = repeated_texts(turned, len(pages))
    return sum(len(text) for _, text in turned if text not in stamps)


def _without(page: Page, tabular: frozenset[Line], keep_tables: bool) -> tuple[Page, int]:
    """Return a page without the lines of tables, or with the tables' rows, and the number of characters dropped."""
    if keep_tables:
        return with_table_rows(page, tabular), 0
    kept = page.with_lines(line for line in page.lines if line not in tabular)
    return kept, sum(len(line.text) for line in tabular)


def _without_tables(page: Page, keep_tables: bool) -> tuple[Page, int]:
    """Return a page in reading order, without labels of drawings and tables (or with their rows), and what is dropped.

    Ruled tables go before columns are told apart, whose lines their rows look like, and tables without rulings after.
    """
    page, num_ruled = _without(page, ruled_lines(page), keep_tables)
    page, num_labels = _without(page, figure_labels(page), keep_tables=False)
    page = page.with_lines(in_reading_order(page.lines))
    page, num_aligned = _without(page, aligned_lines(page), keep_tables)
    return page, num_labels + num_ruled + num_aligned


def read_pdf(path: str, data: bytes, *, keep_tables: bool = False) -> Document:
    """PDF bytes -> Document; raises Unreadable. Not to be called from threads.

    The title is the one in the properties where that says something, else what the first page shows in its largest
    font, or the file's name. With `keep_tables` a table's row is a line, with tabs between its columns.
    """
    pdf = _open(data)
    try:
        if len(pdf) > MAX_PAGES:
            raise Unreadable("too_large", f"it has {len(pdf)} pages, more than {MAX_PAGES}: split it")
        pages = _read_pages(pdf)
        _refuse_shell(pdf, pages)
        title = pdf.get_metadata_value("Title")
    finally:
        pdf.close()
    _refuse_without_text(pages)
    title = choose_title(title, _largest_line(pages), path=path)
    kept = [_without_tables(page, keep_tables) for page in without_contents(without_running_lines(pages))]
    raw = list(paragraphs([page.lines for page, _ in kept]))
    text = "\n\n".join(filter(None, (clean_prose(paragraph).strip() for paragraph in raw)))
    if not text:
        raise Unreadable("no_text", "it has no text outside of tables and running lines: leave it out")
    num_dropped_chars = sum(num_dropped for _, num_dropped in kept) + _num_turned_chars(pages)
    num_nul = sum(paragraph.count("\x00") for paragraph in raw)
    num_image_pages = sum(page.drawing.has_image and not page.lines for page in pages)
    return Document(title, text, "pdf", num_dropped_chars, num_unmapped(text) + num_nul, num_image_pages)
