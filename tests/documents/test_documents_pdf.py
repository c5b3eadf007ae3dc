"""PDF reader, on pages drawn here."""

import pytest
from pdf_pages import LONG, lines, pdf_bytes, raw_pdf, read, together
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

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


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ("for the con-", "figuration of it", "for the configuration of it"),
        ("in the time-", "frequency plane", "in the time-frequency plane"),
        ("over a non-", "3GPP access", "over a non-3GPP access"),
        ("as in TS 38.3-", "31 it says", "as in TS 38.3-31 it says"),
        ("by the Near-", "RT RIC", "by the Near-RT RIC"),
        ("by the pro-", "xylink again", "by the pro-xylink again"),
        ("of the up-", "and downlink", "of the up- and downlink"),
        ("of the soft con\u00ad", "figuration", "of the soft configuration"),
        ("in a sub-", "carrier again", "in a sub-carrier again"),
    ],
)
def test_hyphens_at_line_ends_stay_unless_the_word_is_written_without_elsewhere(
    above: str, below: str, expected: str
) -> None:
    forms = ("", "A subcarrier is a sub-carrier, and a sub-carrier it is.")
    page = lines(
        f"{LONG} and more {above}", f"{below}.", "", "The configuration, a time-frequency plane and a timer.", *forms
    )
    assert f" {expected}." in read(page).text


def test_a_text_that_hyphenates_joins_words_that_are_written_nowhere_else() -> None:
    texts = ("confi-", "guration", "proce-", "dure", "time-", "frequency", "termi-", "nation", "estab-", "lishment")
    broken = [f"{LONG} {text}" if text.endswith("-") else f"{text} {LONG}" for text in texts]
    whole = "The configuration, the procedure and its termination, a time and a frequency, one time, one frequency."
    text = " ".join(read(lines(whole, "", *broken)).text.split())
    assert "expires establishment The" in text
    assert "expires time-frequency The" in text


def test_a_page_of_short_lines_has_the_margin_of_the_other_pages() -> None:
    prose = lines(*[LONG] * 6)
    listing = lines("first,", "second-value,", "a-third-value,", "a-fourth,", "a-fifth-value,", "sixth", y=600)
    assert read(prose, prose, listing).text.endswith(
        "first,\nsecond-value,\na-third-value,\na-fourth,\na-fifth-value,\nsixth"
    )


def test_rows_in_pieces_stay_rows_even_where_they_are_full() -> None:
    def draw(canvas: Canvas) -> None:
        lines(*[LONG] * 6, "", y=760)(canvas)
        width = canvas.stringWidth(LONG, "Helvetica", 10)
        for y, name, value in ((640, "id-Cause", "ID ::= 1"), (628, "id-Reset", "ID ::= 2")):
            canvas.drawString(72, y, name)
            canvas.drawRightString(72 + width, y, value)

    assert read(draw).text.endswith("\n\nid-Cause ID ::= 1\nid-Reset ID ::= 2")


def test_lines_of_a_list_that_are_set_looser_than_the_text_are_one_item() -> None:
    text = lines(*[LONG] * 6, y=760)
    loose = lines(f"- {LONG}", "and gives up.", "Another sentence.", y=640, leading=18)
    assert read(together(text, loose)).text.endswith(f"\n\n- {LONG} and gives up.\n\nAnother sentence.")


def test_a_sentence_goes_on_over_a_page_in_capitals_after_a_full_line_only() -> None:
    full = read(lines(LONG, LONG), lines("UE is told."), lines("5 Heading")).text
    assert full == f"{LONG} {LONG} UE is told.\n\n5 Heading"
    short = read(lines(LONG, f"{LONG}.", "", "A caption"), lines("UE is told.")).text
    assert short == f"{LONG} {LONG}.\n\nA caption\n\nUE is told."
    heading = read(lines(LONG, LONG), lines("5 Heading")).text
    assert heading == f"{LONG} {LONG}\n\n5 Heading"


def _with_unicode_map(text: str, characters: dict[str, int]) -> bytes:
    pairs = "".join(f"<{ord(letter):02X}><{code:04X}>" for letter, code in characters.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00><FF> endcodespacerange "
        f"{len(characters)} beginbfchar {pairs} endbfchar endcmap end end"
    )
    stream = f"10 0 obj <</Length {len(cmap)}>>\nstream\n{cmap}\nendstream endobj\n"
    return raw_pdf(text, font="/ToUnicode 10 0 R", extra=stream)


def test_ligatures_are_spelt_out_and_characters_without_a_meaning_are_counted() -> None:
    characters = {"A": 0xFB03, "B": 0xFB06, "C": 0xFFFD, "D": 0xE000, "E": 0x0000, "F": 0xF0B7}
    document = read_pdf("a.pdf", _with_unicode_map("an oAce of the laB word C and D and E and F", characters))
    assert document.text == "an office of the last word \ufffd and \ue000 and  and \u2022"
    assert document.num_unmapped_chars == 3
    assert _reason(_with_unicode_map("ABC A BCA", dict.fromkeys("ABC", 0xE000))) == "garbled"


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


def _scan(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("L", (8, 8), 128)), 0, 0, A4[0], A4[1])


def test_what_gives_no_text_says_why() -> None:
    assert _reason(pdf_bytes(_scan, _scan)) == "scanned"
    assert _reason(pdf_bytes(lines())) == "no_text"
    assert _reason(b"%PDF-1.7\n" + b"x" * 100) == "damaged"
    assert _reason(raw_pdf("no pages", num_pages=0)) == "damaged"
    assert _reason(raw_pdf("a page that is none").replace(b"3 0 obj <<", b"3 0 obj 5 <<")) == "damaged"
    assert _reason(b"PK\x03\x04") == "mislabelled"


def test_a_page_of_images_among_pages_of_text_is_counted() -> None:
    document = read(lines(f"{LONG}."), _scan, lines(f"{LONG} again."), lines())
    assert document.text == f"{LONG}.\n\n{LONG} again."
    assert document.num_image_pages == 1


def test_shells_of_documents_that_pdfium_cannot_show_are_named() -> None:
    waits = "Please wait... If this message is not replaced, your viewer may not be able to display this document."
    xfa = "10 0 obj <</Length 6>>\nstream\n<xdp/>\nendstream endobj\n"
    assert _reason(raw_pdf(waits, catalog="/AcroForm<</Fields[]/XFA 10 0 R>>", extra=xfa)) == "xfa_form"
    asks = "For the best experience, open this PDF portfolio in Acrobat X or Adobe Reader X, or later."
    attached = (
        "10 0 obj <</Type/Filespec/F(a.docx)/EF<</F 11 0 R>>>> endobj\n"
        "11 0 obj <</Type/EmbeddedFile/Length 3>>\nstream\nabc\nendstream endobj\n"
    )
    names = "/Names<</EmbeddedFiles<</Names[(a.docx) 10 0 R]>>>>"
    assert _reason(raw_pdf(asks, catalog=f"/Collection<<>>{names}", extra=attached)) == "portfolio"
    # Neither a form nor an attachment makes a document a shell, nor do the words alone.
    assert read_pdf("a.pdf", raw_pdf(LONG, catalog=f"/AcroForm<</Fields[]/XFA 10 0 R>>{names}", extra=attached)).text
    assert read_pdf("a.pdf", raw_pdf(waits)).text == waits


def test_a_file_whose_table_of_objects_is_damaged_or_missing_is_read() -> None:
    good = pdf_bytes(lines(LONG))
    assert read_pdf("a.pdf", good.replace(b"startxref\n", b"startxref\n9")).text == LONG
    assert read_pdf("a.pdf", raw_pdf(LONG)).text == LONG


def test_the_same_file_gives_the_same_text_again_and_again() -> None:
    data = pdf_bytes(*(lines(LONG, f"Page {number}.") for number in range(5)))
    assert len({read_pdf("a.pdf", data).text for _ in range(5)}) == 1
