"""PDF reader, on pages drawn here."""

import pytest
from pdf_pages import LONG, lines, pdf_bytes, read
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from teleembed_ray.documents.characters import clean_prose
from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.pdf import read_pdf


def test_lines_of_a_paragraph_are_joined_and_paragraphs_are_not() -> None:
    text = read(lines(LONG, "and then gives up.", "", LONG, "once more.")).text
    assert text == f"{LONG} and then gives up.\n\n{LONG} once more."


def test_a_sentence_goes_on_over_a_page_and_a_new_one_does_not() -> None:
    text = read(lines(LONG), lines("and sends it again."), lines("Then it ends.")).text
    assert text == f"{LONG} and sends it again.\n\nThen it ends."


def test_lines_that_were_broken_on_purpose_stay_lines() -> None:
    page = lines(LONG, LONG, LONG, "", "struct a {", "int b;", "};")
    assert read(page).text == f"{LONG} {LONG} {LONG}\n\nstruct a {{\nint b;\n}};"


def test_ligatures_and_line_end_hyphens() -> None:
    page = lines(
        "The configuration of the node is sent when all nodes are ready for the con-",
        "figuration, and a non-",
        "standalone node is asked for the pro-",
        "xylink again.",
    )
    # "configuration" stands elsewhere in the document, "proxylink" and "nonstandalone" do not.
    text = " ".join(read(page).text.split())
    assert "for the configuration, and a non-standalone node" in text
    assert "the pro-xylink again" in text
    assert clean_prose("O\ufb03ce\x00 \ufb01t\u00ad") == "Office fit"


def test_titles() -> None:
    def cover(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 24)
        canvas.drawString(72, 600, "Widget Guide")
        canvas.setFont("Helvetica", 10)
        lines(LONG)(canvas)

    assert read_pdf("x/b.pdf", pdf_bytes(cover, title="Timing Guide")).title == "Timing Guide"
    assert read_pdf("x/b.pdf", pdf_bytes(cover, title="untitled")).title == "Widget Guide"


@pytest.mark.parametrize("strength", [40, 128, 256])
def test_a_permissions_only_password_is_no_obstacle_and_a_real_one_is_named(strength: int) -> None:
    if strength == 256:
        pytest.importorskip("pyaes", reason="ReportLab needs pyaes to write AES-256")

    def encrypted(password: str) -> bytes:
        return pdf_bytes(lines(LONG), encrypt=StandardEncryption(password, ownerPassword="owner", strength=strength))

    assert read_pdf("a.pdf", encrypted("")).text == LONG
    assert _reason(encrypted("secret")) == "encrypted"


def _reason(data: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        read_pdf("a.pdf", data)
    return caught.value.reason


def test_what_gives_no_text_says_why() -> None:
    picture = ImageReader(Image.new("L", (8, 8), 128))

    def scan(canvas: Canvas) -> None:
        canvas.drawImage(picture, 0, 0, A4[0], A4[1])

    assert _reason(pdf_bytes(scan, scan)) == "scanned"
    assert _reason(pdf_bytes(lines())) == "no_text"
    assert _reason(b"%PDF-1.7\n" + b"x" * 100) == "damaged"
    assert _reason(b"PK\x03\x04") == "mislabelled"


def test_the_same_file_gives_the_same_text_again_and_again() -> None:
    data = pdf_bytes(*(lines(LONG, f"Page {number}.") for number in range(5)))
    assert len({read_pdf("a.pdf", data).text for _ in range(5)}) == 1
