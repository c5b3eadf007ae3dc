"""Pages drawn for the tests of the PDF reader."""

import io
from collections.abc import Callable, Iterable

from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from teleembed_ray.documents.document import Document
from teleembed_ray.documents.pdf import read_pdf

Page = Callable[[Canvas], None]

LONG = "The node that has started the timer waits for the answer until the timer expires"


def pdf_bytes(*pages: Page, title: str = "", encrypt: StandardEncryption | None = None) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1, encrypt=encrypt)
    canvas.setTitle(title)
    for draw in pages:
        canvas.setFont("Helvetica", 10)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def lines(*texts: str, x: float = 72, y: float = 700, leading: float = 12) -> Page:
    """A page of lines from the top, where an empty text leaves a line out."""

    def draw(canvas: Canvas) -> None:
        for index, text in enumerate(texts):
            if text:
                canvas.drawString(x, y - index * leading, text)

    return draw


def rows(*texts: Iterable[str], columns: Iterable[float], y: float = 700, leading: float = 14) -> Page:
    """Rows of a table, written cell by cell."""

    def draw(canvas: Canvas) -> None:
        for index, row in enumerate(texts):
            for x, text in zip(columns, row, strict=False):
                canvas.drawString(x, y - index * leading, text)

    return draw


def together(*parts: Page) -> Page:
    def draw(canvas: Canvas) -> None:
        for part in parts:
            part(canvas)

    return draw


def read(*pages: Page) -> Document:
    return read_pdf("a.pdf", pdf_bytes(*pages))


def raw_pdf(text: str, *, catalog: str = "", font: str = "", extra: str = "", num_pages: int = 1) -> bytes:
    """A PDF written by hand, without its table of objects, which a reader then has to rebuild.

    Each page draws `text`, a literal string of PDF, in the font F1; `catalog` and `font` are further entries of these
    dictionaries, `extra` further objects, numbered from 10.
    """
    content = f"BT /F1 10 Tf 72 700 Td ({text}) Tj ET"
    kids = " ".join(["3 0 R"] * num_pages)
    return (
        f"%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R{catalog}>> endobj\n"
        f"2 0 obj <</Type/Pages/Kids[{kids}]/Count {num_pages}>> endobj\n"
        "3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        "/Resources<</Font<</F1 5 0 R>>>>>> endobj\n"
        f"4 0 obj <</Length {len(content)}>>\nstream\n{content}\nendstream endobj\n"
        f"5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica{font}>> endobj\n"
        f"{extra}trailer <</Root 1 0 R>>\n%%EOF\n"
    ).encode("latin-1")
