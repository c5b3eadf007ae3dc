"""PDF reader, on pages drawn here."""

import io
from collections.abc import Callable

import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from teleembed_ray.documents.characters import clean_prose
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.reader import read_document

Page = Callable[[Canvas], None]


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


def read(*pages: Page) -> Document:
    return read_document("a.pdf", pdf_bytes(*pages))


LONG = "The node that has started the timer waits for the answer until the timer expires"


def test_lines_of_a_paragraph_are_joined_and_paragraphs_are_not() -> None:
    text = read(lines(LONG, "and then gives up.", "", LONG, "once more.")).text
    assert text == f"{LONG} and then gives up.\n\n{LONG} once more."


def test_a_sentence_goes_on_over_a_page_and_a_new_one_does_not() -> None:
    text = read(lines(LONG), lines("and sends it again."), lines("Then it ends.")).text
    assert text == f"{LONG} and sends it again.\n\nThen it ends."


def test_lines_that_were_broken_on_purpose_stay_lines() -> None:
    page = lines(LONG, LONG, LONG, "", "struct a {", "int b;", "};")
    assert read(page).text == f"{LONG} {LONG} {LONG}\n\nstruct a {{\nint b;\n}};"


def test_running_lines_and_page_numbers_are_removed_and_body_lines_are_not() -> None:
    def page(number: int, body: str) -> Page:
        def draw(canvas: Canvas) -> None:
            canvas.drawString(72, A4[1] - 40, f"3GPP TS 38.331 V18.{number}.0")
            canvas.drawString(72, 400, body)
            canvas.drawString(72, 390 - 12, "This line is the same on all pages but stands in the middle.")
            canvas.drawString(300, 30, str(number))

        return draw

    text = read(page(1, "First body."), page(2, "Second body."), page(3, "Third body.")).text
    assert "38.331" not in text
    assert [word in text for word in ("First", "Second", "Third")] == [True] * 3
    assert text.count("stands in the middle") == 3
    assert not any(line.isdigit() for line in text.splitlines())


def test_a_heading_in_the_margin_of_one_page_is_kept() -> None:
    def heading(canvas: Canvas) -> None:
        canvas.drawString(72, A4[1] - 40, "7 Test cases")

    def draw(canvas: Canvas) -> None:
        heading(canvas)
        lines(LONG)(canvas)

    assert read(draw, lines(LONG), lines(LONG)).text.startswith("7 Test cases")


def test_contents_lines_are_dropped_and_ellipses_are_not() -> None:
    text = read(
        lines("1 Scope ........................ 5", "2 Terms . . . . . . . . . 6", "and so on until line ... 7")
    ).text
    assert text == "and so on until line ... 7"


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


def test_ruled_tables_are_left_out_and_counted_with_their_merged_rows() -> None:
    def draw(canvas: Canvas) -> None:
        lines(LONG + ".", y=750)(canvas)
        columns = [72, 200, 330, 460]
        canvas.grid([columns[0], columns[-1]], [700, 680])
        canvas.drawString(80, 686, "MERGED")
        canvas.grid(columns, [680, 660, 640])
        for row, y in enumerate((666, 646)):
            for column, x in enumerate(columns[:-1]):
                canvas.drawString(x + 8, y, f"R{row}C{column}")
        lines("After the table.", y=600)(canvas)

    document = read(draw)
    assert document.text == f"{LONG}.\n\nAfter the table."
    assert document.num_dropped_chars >= len("MERGED") + 6 * len("R0C0")


def test_a_frame_around_a_note_a_page_frame_and_a_change_bar_leave_the_text_in() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.rect(10, 10, A4[0] - 20, A4[1] - 20)
        canvas.rect(60, 680, 470, 40)
        canvas.line(50, 400, 50, 800)
        lines("A note in a frame.", y=700)(canvas)
        lines("Text below.", y=500)(canvas)

    assert read(draw).text == "A note in a frame.\n\nText below."


def test_columns_that_are_written_one_after_the_other_are_read_in_order() -> None:
    left = lines("The committee reviewed the annual", "report and", x=60)
    right = lines("approved the budget for the", "coming fiscal year.", x=330)

    def draw(canvas: Canvas) -> None:
        left(canvas)
        right(canvas)

    words = read(draw).text.split()
    assert " ".join(words) == (
        "The committee reviewed the annual report and approved the budget for the coming fiscal year."
    )


def test_titles() -> None:
    def cover(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 24)
        canvas.drawString(72, 600, "Widget Guide")
        canvas.setFont("Helvetica", 10)
        lines(LONG)(canvas)

    assert read_document("x/b.pdf", pdf_bytes(cover, title="Timing Guide")).title == "Timing Guide"
    assert read_document("x/b.pdf", pdf_bytes(cover, title="untitled")).title == "Widget Guide"


@pytest.mark.parametrize("strength", [40, 128, 256])
def test_a_permissions_only_password_is_no_obstacle_and_a_real_one_is_named(strength: int) -> None:
    if strength == 256:
        pytest.importorskip("pyaes", reason="ReportLab needs pyaes to write AES-256")

    def encrypted(password: str) -> bytes:
        return pdf_bytes(lines(LONG), encrypt=StandardEncryption(password, ownerPassword="owner", strength=strength))

    assert read_document("a.pdf", encrypted("")).text == LONG
    assert _reason(encrypted("secret")) == "encrypted"


def _reason(data: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        read_document("a.pdf", data)
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
    assert len({read_document("a.pdf", data).text for _ in range(5)}) == 1
