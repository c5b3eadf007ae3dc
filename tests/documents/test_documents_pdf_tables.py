"""PDF reader: tables with and without rulings, and labels of drawings."""

import pytest
from pdf_pages import LONG, Page, lines, pdf_bytes, read, rows, together
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from teleembed_ray.documents.pdf import read_pdf

CELLS = (("Name", "Type", "Range"), ("alpha", "integer", "0 to 7"), ("beta", "real", "1 to 2"))
NUM_CELL_CHARS = len("Name Type Range") + len("alpha integer 0 to 7") + len("beta real 1 to 2")
COLUMNS = (80, 230, 380)


def ruled(*heights: float, low: float = 72, high: float = 520) -> Page:
    def draw(canvas: Canvas) -> None:
        for y in heights:
            canvas.line(low, y, high, y)

    return draw


def around(*parts: Page) -> Page:
    """A paragraph above and one below."""
    return together(lines(f"{LONG}.", y=760), *parts, lines("After the table.", y=560))


AROUND = f"{LONG}.\n\nAfter the table."


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


def test_a_table_with_level_rules_only_is_left_out_and_counted() -> None:
    document = read(around(rows(*CELLS, columns=COLUMNS), ruled(712, 696, 664)))
    assert (document.text, document.num_dropped_chars) == (AROUND, NUM_CELL_CHARS)


def test_a_table_of_two_columns_with_inner_rulings_only_is_left_out() -> None:
    def bar(canvas: Canvas) -> None:
        canvas.line(220, 664, 220, 712)

    document = read(around(rows(*(row[:2] for row in CELLS), columns=COLUMNS), ruled(712, 696, 682, 664), bar))
    assert document.text == AROUND
    assert document.num_dropped_chars == len("Name Type") + len("alpha integer") + len("beta real")


def test_prose_between_rules_of_a_page_and_between_two_tables_stays() -> None:
    page = together(
        ruled(790, 60),
        rows(*CELLS, columns=COLUMNS, y=740),
        ruled(752, 736, 704),
        lines("9.2.4 Global identity", f"{LONG}.", y=680),
        rows(*CELLS, columns=COLUMNS, y=640),
        ruled(652, 636, 604),
        lines("After both.", y=500),
    )
    document = read(page)
    assert document.text.split() == f"9.2.4 Global identity {LONG}. After both.".split()
    assert document.num_dropped_chars == 2 * NUM_CELL_CHARS


def test_prose_between_rules_of_one_length_with_a_narrower_table_between_them_stays() -> None:
    page = together(
        rows(*CELLS, columns=COLUMNS, y=740),
        ruled(752, 736, 704),
        lines("9.2.4 Global identity", f"{LONG}.", y=680),
        rows(*CELLS, columns=COLUMNS, y=640),
        ruled(652, 636, 604, low=78),
        # A rule above the footer.
        ruled(60),
    )
    document = read(page)
    assert document.text.split() == f"9.2.4 Global identity {LONG}.".split()
    assert document.num_dropped_chars == 2 * NUM_CELL_CHARS


def test_a_grid_of_closed_boxes_in_a_form_of_its_own_is_a_table() -> None:
    def draw(canvas: Canvas) -> None:
        # Half the size, so that only the form's matrix puts the boxes around the text.
        canvas.beginForm("grid")
        for x in (0, 60, 120):
            path = canvas.beginPath()
            path.moveTo(x, 20)
            path.lineTo(x + 60, 20)
            path.lineTo(x + 60, 0)
            path.lineTo(x, 0)
            path.close()
            canvas.drawPath(path)
        canvas.endForm()
        canvas.saveState()
        canvas.translate(72, 650)
        canvas.scale(2, 2)
        canvas.doForm("grid")
        canvas.restoreState()
        for x in (80, 200, 320):
            canvas.drawString(x, 670, "CELL")
            canvas.drawString(x, 655, "wide")

    document = read(around(draw))
    assert document.text == AROUND
    assert document.num_dropped_chars == 3 * len("CELLwide")


def test_a_table_that_only_blanks_align_is_left_out_with_three_columns_or_under_a_caption() -> None:
    document = read(around(rows(*CELLS, columns=COLUMNS)))
    assert (document.text, document.num_dropped_chars) == (AROUND, NUM_CELL_CHARS)
    two = rows(*(row[:2] for row in CELLS), columns=COLUMNS)
    text = read(around(lines("Table 5-1: Parameters", y=725), two)).text
    assert text == f"{LONG}.\n\nTable 5-1: Parameters\n\nAfter the table."


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param((("AMF", "Access Management"), ("SMF", "Session Management"), ("UPF", "User Plane")), id="terms"),
        pytest.param((("a.", "first item", "of it"), ("b.", "second", "item"), ("c.", "third", "item")), id="list"),
        pytest.param((("int a;", "int b;", "int c;"), ("u8 d;", "u8 e;", "u8 f;"), ("x;", "y;", "z;")), id="code"),
        pytest.param((("{ ID x", "TYPE y", "optional }|"), ("{ ID z", "TYPE w", "optional },")), id="ASN.1"),
    ],
)
def test_aligned_text_that_is_no_table_stays(kept: tuple[tuple[str, ...], ...]) -> None:
    text = read(around(rows(*kept, columns=COLUMNS))).text
    assert text.split() == f"{LONG}. {' '.join(cell for row in kept for cell in row)} After the table.".split()


def kept_tables(page: Page) -> str:
    return read_pdf("a.pdf", pdf_bytes(page), keep_tables=True).text


def test_kept_tables_have_a_line_for_each_row() -> None:
    expected = "\n".join("\t".join(row) for row in CELLS)
    for drawn in (rows(*CELLS, columns=COLUMNS), together(rows(*CELLS, columns=COLUMNS), ruled(712, 696, 664))):
        assert kept_tables(around(drawn)) == f"{LONG}.\n\n{expected}\n\nAfter the table."


def test_a_kept_row_of_a_ruled_table_holds_all_lines_of_its_cells() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.grid([72, 200, 330, 460], [712, 694, 664])
        rows(("Name", "Type", "Note"), columns=(80, 208, 338), y=699)(canvas)
        for x, text in ((80, "a long"), (208, "int"), (338, "of many")):
            canvas.drawString(x, 684, text)
        for x, text in ((80, "name"), (338, "words")):
            canvas.drawString(x, 670, text)

    text = kept_tables(around(draw))
    assert text == f"{LONG}.\n\nName\tType\tNote\na long name\tint\tof many words\n\nAfter the table."


def test_a_kept_table_above_a_caption_of_a_figure_is_no_drawing() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.grid([72, 220, 370, 520], [712, 696, 682, 664])

    text = kept_tables(together(rows(*CELLS, columns=COLUMNS), draw, lines("Figure 1: A table", y=630)))
    assert text == "\n".join("\t".join(row) for row in CELLS) + "\n\nFigure 1: A table"


def boxes_and_arrows(canvas: Canvas) -> None:
    for x, label in ((100, "UE"), (250, "gNB"), (400, "AMF")):
        canvas.roundRect(x, 640, 80, 30, 4)
        canvas.drawString(x + 10, 651, label)
    for x in (180, 330):
        canvas.line(x, 655, x + 70, 655)
        canvas.drawString(x + 10, 660, "N1 signal")


def test_the_labels_of_a_drawing_are_left_out_and_counted_and_its_caption_stays() -> None:
    page = together(
        lines(f"{LONG}.", y=760),
        boxes_and_arrows,
        lines("Figure 4.2-1: The reference points", x=200, y=610),
        lines("After it.", y=580),
    )
    document = read(page)
    assert document.text == (f"{LONG}.\n\nFigure 4.2-1: The reference points\n\nAfter it.")
    assert document.num_dropped_chars == len("UE gNB AMF") + len("N1 signal N1 signal")


def test_a_drawing_whose_labels_are_no_rows_is_left_out_too() -> None:
    def draw(canvas: Canvas) -> None:
        for x, y, label in ((100, 690, "UE"), (220, 660, "gNB"), (340, 630, "AMF")):
            canvas.circle(x, y, 20)
            canvas.drawString(x - 8, y - 4, label)

    text = lines(LONG, "and ends.", y=724)
    document = read(together(text, draw, lines("A line between.", "", "Figure 1: Three nodes", y=586)))
    # The short line right above the drawing is the end of a sentence, and no label.
    assert document.text == f"{LONG} and ends.\n\nA line between.\n\nFigure 1: Three nodes"
    assert document.num_dropped_chars == len("UEgNBAMF")


def test_text_above_a_caption_without_a_drawing_stays() -> None:
    page = together(lines("The last words.", y=640), lines("Figure 1: A picture", y=610))
    assert read(page).text == "The last words.\n\nFigure 1: A picture"
