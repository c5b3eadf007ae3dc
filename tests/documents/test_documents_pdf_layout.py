"""PDF reader: the order of lines, the way they run, and what is written in pieces or twice."""

import pytest
from pdf_pages import LONG, Page, lines, read, rows, together
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

B2 = ((60, 712, "The committee reviewed the annual"), (330, 712, "approved the budget for the"),
      (60, 698, "report and"), (330, 698, "coming fiscal year."))  # fmt: skip
B2_TEXT = "The committee reviewed the annual report and approved the budget for the coming fiscal year."


def across(*pairs: tuple[str, str], columns: tuple[float, float] = (60, 320), y: float = 700) -> Page:
    return rows(*pairs, columns=columns, y=y, leading=12)


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


def words(*pages: Page) -> str:
    return " ".join(read(*pages).text.split())


def test_columns_that_are_written_line_by_line_across_the_gutter_are_read_left_first() -> None:
    def draw(canvas: Canvas) -> None:
        for place in B2:
            canvas.drawString(*place)

    assert words(draw) == B2_TEXT


def test_a_heading_over_both_columns_and_a_paragraph_below_keep_their_places() -> None:
    page = together(
        lines("A heading over both of the columns of the page, which is a line of its own", x=60, y=740),
        across(
            ("The upper layer asks for a set up of", "is sent to the peer, which then has"),
            ("the link when it has data that wait", "to answer it before the timer has"),
            ("for a transmission. The request", "run out."),
        ),
        lines("A paragraph below both of the columns of the page, which is a line of its own", x=60, y=640),
    )
    assert words(page) == (
        "A heading over both of the columns of the page, which is a line of its own "
        "The upper layer asks for a set up of the link when it has data that wait for a transmission. The request "
        "is sent to the peer, which then has to answer it before the timer has run out. "
        "A paragraph below both of the columns of the page, which is a line of its own"
    )


def test_three_columns_across_are_read_one_after_the_other() -> None:
    page = rows(
        ("first column has", "second column has", "third column has"),
        ("lines that go on", "lines that also go", "lines that go on"),
        ("to its end", "on to its end", "to the end."),
        columns=(60, 230, 400),
        leading=12,
    )
    assert words(page) == (
        "first column has lines that go on to its end second column has lines that also go on to its end "
        "third column has lines that go on to the end."
    )


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(
            (("AMF", "Access and mobility management function of"), ("", "the core network"), ("UE", "User equipment")),
            id="abbreviations",
        ),
        pytest.param(
            (("int num_harqs;", "// how many processes the cell"), ("int num_ues;", "// has and how many devices")),
            id="trailing comments",
        ),
        pytest.param((("1)", "the first item of a list which"), ("", "goes on here")), id="hanging marks"),
        pytest.param((("Version 17", "March of the year"), ("Release 17", "of the freeze")), id="a cover page"),
    ],
)
def test_rows_that_are_no_columns_of_prose_stay_rows(pairs: tuple[tuple[str, str], ...]) -> None:
    expected = " ".join(text for pair in pairs for text in pair if text)
    assert words(across(*pairs, columns=(72, 200))) == expected


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_turned_page_is_read_like_an_upright_one(degrees: int, rotation: int) -> None:
    width, height = A4
    shift = {0: (0, 0), 90: (0, -width), 180: (-width, -height), 270: (-height, 0)}[degrees]

    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(rotation)
        canvas.rotate(degrees)
        canvas.translate(*shift)
        canvas.setFont("Helvetica", 10)
        lines("9 Landscape", "", LONG, LONG, "and then gives up.", "", "Another paragraph.", y=500)(canvas)

    assert read(draw).text == f"9 Landscape\n\n{LONG} {LONG} and then gives up.\n\nAnother paragraph."


def test_tables_and_running_lines_of_a_turned_page_are_found() -> None:
    def page(number: int) -> Page:
        def draw(canvas: Canvas) -> None:
            canvas.rotate(90)
            canvas.translate(0, -A4[0])
            canvas.setFont("Helvetica", 10)
            canvas.drawString(72, A4[0] - 30, "A running title")
            lines(f"{LONG}, {'once' if number == 1 else 'twice'}.", y=500)(canvas)
            canvas.grid([72, 200, 330], [400, 380, 360])
            canvas.drawString(80, 386, f"CELL {number}")

        return draw

    document = read(*(page(number) for number in (1, 2, 3)))
    assert document.text == f"{LONG}, once.\n\n{LONG}, twice.\n\n{LONG}, twice."
    assert document.num_dropped_chars == 3 * len("CELL 1")


def test_text_beside_the_reading_direction_is_counted_and_a_diagonal_stamp_is_not() -> None:
    def draw(canvas: Canvas) -> None:
        lines(f"{LONG}.")(canvas)
        canvas.saveState()
        canvas.translate(300, 300)
        canvas.rotate(45)
        canvas.drawString(0, 0, "DRAFT")
        canvas.restoreState()

    def axis(canvas: Canvas) -> None:
        draw(canvas)
        canvas.translate(100, 300)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Throughput")

    document = read(draw, axis)
    assert document.text == f"{LONG}.\n\n{LONG}."
    assert document.num_dropped_chars == len("Throughput")


def test_exponents_and_indices_stay_in_their_line() -> None:
    def draw(canvas: Canvas) -> None:
        x = 72.0
        for text, rise, size in (("It takes 10", 0, 10), ("-9", 4, 6), (" s of H", 0, 10), ("2", -3, 6), ("O.", 0, 10)):
            canvas.setFont("Helvetica", size)
            canvas.drawString(x, 700 + rise, text)
            x += canvas.stringWidth(text, "Helvetica", size)
        canvas.setFont("Helvetica", 10)
        lines("The next line.", y=688)(canvas)

    assert words(draw) == "It takes 10-9 s of H2O. The next line."


def test_pieces_that_a_page_writes_apart_are_one_line() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "x")
        canvas.setFont("Helvetica", 6)
        canvas.drawString(77, 704, "2")
        canvas.setFont("Helvetica", 10)
        canvas.drawString(83, 700, "is four.")

    # PDFium ends a line before and after the exponent.
    assert read(draw).text == "x2 is four."


@pytest.mark.parametrize("offset", [0.3, 1.5])
def test_text_that_is_drawn_twice_for_bold_or_a_shadow_is_read_once(offset: float) -> None:
    texts = [f"Number {number} of the lines" for number in range(8)]
    again = lines(*texts, x=72 + offset, y=700 - offset)
    assert words(together(lines(*texts), again, lines("A line.", "A line.", y=500))) == (
        f"{' '.join(texts)} A line. A line."
    )


def test_the_invisible_text_behind_a_scan_is_text() -> None:
    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(72, 700)
        text.setTextRenderMode(3)
        text.textOut(LONG)
        canvas.drawText(text)

    assert read(draw).text == LONG


def test_a_font_that_is_scaled_by_the_page_has_the_size_that_is_seen() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.scale(10, 10)
        for index, text in enumerate((LONG, "and gives up.", "", LONG)):
            canvas.setFont("Helvetica", 1)
            canvas.drawString(7.2, 70 - 1.2 * index, text)

    assert read(draw).text == f"{LONG} and gives up.\n\n{LONG}"
