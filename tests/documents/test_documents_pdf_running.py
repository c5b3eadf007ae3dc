"""PDF reader: what returns from page to page, and contents lists."""

import pytest
from pdf_pages import LONG, Page, lines, read, together
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

TOP, BOTTOM = A4[1] - 40, 30
BODIES = (
    "The first body.",
    "The second body.",
    "A third one.",
    "Number four is here.",
    "It ends with a fifth.",
    "Six.",
)


def pages_with(top: str = "", bottom: str = "", num_pages: int = 6, x: float = 72) -> list[Page]:
    """Pages whose running lines are formatted with the page's number and that of all pages."""

    def page(number: int) -> Page:
        texts = (text.format(number, num_pages, chapter=(number + 2) // 3) for text in (top, bottom))
        places = zip(texts, (TOP, BOTTOM), strict=True)
        return together(lines(BODIES[number - 1], y=500), *(lines(text, x=x, y=y) for text, y in places))

    return [page(number) for number in range(1, num_pages + 1)]


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


@pytest.mark.parametrize("bottom", ["{}", "Page {} of {}", "- {} -", "ETSI {} Release 17", "5-{}", "{} | Annex A"])
def test_page_labels_of_any_form_are_removed(bottom: str) -> None:
    assert read(*pages_with(bottom=bottom)).text == "\n\n".join(BODIES)


def test_roman_page_numbers_are_removed() -> None:
    numerals = ("ii", "iii", "iv", "v", "vi", "vii")
    pages = [together(lines(body, y=500), lines(n, y=BOTTOM)) for body, n in zip(BODIES, numerals, strict=True)]
    assert read(*pages).text == "\n\n".join(BODIES)


def test_headers_that_alternate_between_odd_and_even_pages_are_removed() -> None:
    odd, even = pages_with(top="TS 38.331 V18.0.0"), pages_with(top="Radio Resource Control", x=400)
    pages = [(odd if number % 2 else even)[number - 1] for number in range(1, 7)]
    assert read(*pages).text == "\n\n".join(BODIES)


def test_a_running_title_that_changes_with_the_chapter_is_removed_by_its_place_or_its_page_number() -> None:
    by_place = [
        together(lines(f"Clause {'ABCDEFG'[number // 4]}", y=TOP), lines(f"Body {number}.", y=500))
        for number in range(28)
    ]
    assert read(*by_place).text == "\n\n".join(f"Body {number}." for number in range(28))
    by_number = [
        together(lines(f"{'abcdefgh'[number]} title    {number + 41}", y=TOP), lines(f"Body {number}.", y=500))
        for number in range(8)
    ]
    assert read(*by_number).text == "\n\n".join(f"Body {number}." for number in range(8))


def test_numbered_headings_at_the_top_of_pages_are_no_page_numbers() -> None:
    titles = ("Scope", "References", "Terms", "Symbols", "General", "Procedures")
    pages = [
        together(lines(f"{2 * number} {title}", y=TOP), lines(body, y=500))
        for number, (title, body) in enumerate(zip(titles, BODIES, strict=True), start=1)
    ]
    text = read(*pages).text
    assert [title in text for title in titles] == [True] * 6


def test_stamps_on_most_pages_are_removed_and_returning_body_lines_are_not() -> None:
    def stamped(body: str) -> Page:
        def draw(canvas: Canvas) -> None:
            lines(body, "NOTE: None.", y=500)(canvas)
            lines("Licensed to A. Reader", x=400, y=400)(canvas)
            canvas.setFont("Helvetica", 48)
            canvas.drawString(150, 495, "CONFIDENTIAL")

        return draw

    text = read(*map(stamped, BODIES)).text
    assert "CONFIDENTIAL" not in text
    assert "Licensed" not in text
    assert text.count("NOTE: None.") == 6


def test_a_rotated_stamp_on_every_page_is_not_counted_as_left_out_text() -> None:
    def stamped(body: str) -> Page:
        def draw(canvas: Canvas) -> None:
            lines(body, y=500)(canvas)
            canvas.translate(200, 300)
            canvas.rotate(45)
            canvas.drawString(0, 0, "DRAFT")

        return draw

    document = read(*map(stamped, BODIES))
    assert (document.text, document.num_dropped_chars) == ("\n\n".join(BODIES), 0)


def contents(*entries: tuple[str, str], dots: bool = False, order: str = "rows") -> Page:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 720, "Contents")
        numbers = []
        for index, (title, number) in enumerate(entries):
            y = 700 - 14 * index
            canvas.drawString(72, y, title)
            if dots:
                canvas.drawRightString(500, y, "." * 40)
            numbers.append((523, y, number))
            if order == "rows":
                canvas.drawRightString(*numbers[-1])
        if order == "columns":
            for place in numbers:
                canvas.drawRightString(*place)

    return draw


ENTRIES = (("Foreword", "4"), ("1 Scope", "5"), ("2 References", "5"), ("3 Terms", "12"), ("Annex A", "13"))


@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("dots", [True, False])
def test_contents_pages_are_removed_however_their_dots_and_numbers_are_written(dots: bool, order: str) -> None:
    page = contents(*ENTRIES, dots=dots, order=order)
    filler = [lines(body, y=500) for body in BODIES]
    assert read(page, *filler).text == "\n\n".join(BODIES)


def test_a_contents_list_that_goes_on_without_a_heading_is_removed() -> None:
    more = together(*(lines(f"{n} More", y=700 - 14 * n) for n in range(4, 9)))

    def second(canvas: Canvas) -> None:
        more(canvas)
        for n in range(4, 9):
            canvas.drawRightString(523, 700 - 14 * n, str(13 + n))

    assert read(contents(*ENTRIES), second, *(lines(body, y=500) for body in BODIES)).text == "\n\n".join(BODIES)


def test_titles_of_a_contents_list_that_take_two_lines_are_removed_with_their_second_line() -> None:
    page = lines(
        "Contents",
        "1 Scope ........................ 5",
        "2 A title that is so long that it does not fit into",
        "one line ....................... 6",
        "3 Terms ........................ 7",
        "",
        "The text begins.",
    )
    assert read(page).text == "The text begins."


def test_a_heading_contents_without_a_list_and_rows_that_end_in_rising_numbers_stay() -> None:
    page = lines("Contents", "", f"{LONG}.", "In release 15", "In release 16", "In release 17")
    text = read(page).text
    assert text.startswith("Contents\n\nThe node")
    assert [f"release {number}" in text for number in (15, 16, 17)] == [True] * 3
