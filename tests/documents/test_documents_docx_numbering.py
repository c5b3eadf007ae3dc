"""Automatic numbers of headings and lists, expected as Word shows them."""

import pytest
from docx_parts import MC, W, blocks, level_xml, numbered, numbering_part, paragraph, read, run, style, styles_part

from teleembed_ray.documents.docx.numbering import letters, ordinal, roman

OUTLINE = tuple(
    level_xml(number, text, more=f'<w:pStyle w:val="H{number + 1}"/>')
    for number, text in enumerate(("%1", "%1.%2", "%1.%2.%3"))
)
LIST_OF_HEADINGS = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
HEADINGS = numbering_part(*OUTLINE) | styles_part(
    style("H1", "heading 1", LIST_OF_HEADINGS),
    *(style(f"H{number}", f"heading {number}", LIST_OF_HEADINGS) for number in (2, 3)),
)


def labels(body: str, parts: dict[str, str]) -> list[str]:
    """Return what stands before the first tab or blank of each paragraph."""
    return [text.split()[0] for text in read(body, parts).text.split("\n\n")]


def test_headings_are_numbered_by_the_levels_that_name_their_styles_and_restart_below_a_new_one() -> None:
    body = "".join(paragraph("x", f"H{level}") for level in (1, 2, 3, 3, 2, 3, 1, 2))
    assert labels(body, HEADINGS) == ["1", "1.1", "1.1.1", "1.1.2", "1.2", "1.2.1", "2", "2.1"]
    assert blocks(paragraph("Scope", "H1"), HEADINGS) == [("heading", "1\tScope", 1)]


def test_a_style_inherits_list_and_level_each_by_itself() -> None:
    parts = numbering_part(level_xml(0, "%1"), level_xml(1, "%1.%2")) | styles_part(
        style("H1", "heading 1", LIST_OF_HEADINGS),
        style("H2", "heading 2", '<w:basedOn w:val="H1"/><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr>'),
        style("Own", "Own", '<w:basedOn w:val="H2"/>'),
        style("Off", "Off", '<w:basedOn w:val="H1"/><w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr>'),
    )
    body = paragraph("a", "H1") + paragraph("b", "H2") + paragraph("c", "Own") + paragraph("off", "Off")
    assert labels(body, parts) == ["1", "1.1", "1.2", "off"]


def test_a_style_without_a_list_of_its_own_has_the_level_of_the_style_that_it_is_based_on() -> None:
    own = style("Own", "Own", '<w:basedOn w:val="H2"/>')
    parts = HEADINGS | {"word/styles.xml": HEADINGS["word/styles.xml"].replace("</w:styles>", f"{own}</w:styles>")}
    assert labels(paragraph("a", "H1") + paragraph("b", "Own"), parts) == ["1", "1.1"]


def test_zero_switches_a_number_off_and_an_unknown_list_has_none() -> None:
    body = paragraph("a", "H1") + numbered("off", 0, style="H1") + numbered("odd", 77, 0) + paragraph("b", "H1")
    assert labels(body, HEADINGS) == ["1", "off", "odd", "2"]
    zero = numbering_part(level_xml(0, "%1."), nums='<w:num w:numId="0"><w:abstractNumId w:val="0"/></w:num>')
    assert read(numbered("off", 0, 0), zero).text == "off"


def test_a_level_that_was_skipped_counts_as_begun() -> None:
    body = paragraph("a", "H2") + paragraph("b", "H3") + paragraph("c", "H1")
    assert labels(body, HEADINGS) == ["1.1", "1.1.1", "2"]


def test_a_typed_number_is_kept_alone_and_a_heading_that_begins_with_digits_is_none() -> None:
    typed = '<w:p><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>5.3</w:t><w:tab/><w:t>Scope</w:t></w:r></w:p>'
    body = typed + paragraph("2 Terms", "H1") + paragraph("3GPP", "H1") + paragraph("5G System", "H1")
    assert read(body, HEADINGS).text == "5.3\tScope\n\n2 Terms\n\n3\t3GPP\n\n4\t5G System"


@pytest.mark.parametrize(
    ("number_format", "text", "expected"),
    [
        ("decimal", "%1.", ["1.", "2."]),
        ("lowerLetter", "%1)", ["a)", "b)"]),
        ("upperLetter", "Annex %1", ["Annex A", "Annex B"]),
        ("lowerRoman", "(%1)", ["(i)", "(ii)"]),
        ("upperRoman", "%1", ["I", "II"]),
        ("decimalZero", "%1", ["01", "02"]),
        ("ordinal", "%1", ["1st", "2nd"]),
        ("chicago", "%1", ["1", "2"]),
    ],
)
def test_formats_of_numbers(number_format: str, text: str, expected: list[str]) -> None:
    body = numbered("x", 1, 0) + numbered("x", 1, 0)
    parts = numbering_part(level_xml(0, text, number_format))
    assert [line.removesuffix("\tx") for line in read(body, parts).text.split("\n\n")] == expected


def test_letters_double_after_z_and_roman_numerals_subtract() -> None:
    assert [letters(number) for number in (1, 26, 27, 28, 52, 53)] == ["a", "z", "aa", "bb", "zz", "aaa"]
    numerals = ["iv", "ix", "xiv", "xl", "xc", "cd", "mcmxciv"]
    assert [roman(number) for number in (4, 9, 14, 40, 90, 400, 1994)] == numerals
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th",
    ]  # fmt: skip
    # No number makes a label of megabytes.
    assert letters(10**9) == roman(10**9) == "1000000000"
    assert letters(0) == roman(0) == "0"


def test_bullets_of_any_font_are_a_dash_and_no_format_is_no_label() -> None:
    parts = numbering_part(level_xml(0, "\uf0b7", "bullet"), level_xml(1, "%2", "none"), level_xml(2, ""))
    body = numbered("a", 1, 0) + numbered("b", 1, 1) + numbered("c", 1, 2)
    assert blocks(body, parts) == [("list_item", "- a", 0), ("paragraph", "b", 0), ("paragraph", "c", 0)]


def test_suffixes_are_a_tab_a_space_or_nothing() -> None:
    parts = numbering_part(
        level_xml(0, "%1.", more='<w:suff w:val="space"/>'),
        level_xml(1, "%2:", more='<w:suff w:val="nothing"/>'),
        level_xml(2, "%3", more='<w:suff w:val="tab"/>'),
    )
    body = numbered("a", 1, 0) + numbered("b", 1, 1) + numbered("c", 1, 2)
    assert read(body, parts).text == "1. a\n\n1:b\n\n1\tc"


def test_lists_of_one_definition_count_together_until_one_has_a_start_of_its_own() -> None:
    nums = (
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/>'
        "</w:lvlOverride></w:num>"
    )
    parts = numbering_part(level_xml(0, "%1."), nums=nums)
    body = "".join(numbered("x", num_id, 0) for num_id in (1, 2, 3, 3, 1))
    assert labels(body, parts) == ["1.", "2.", "7.", "8.", "9."]


def test_an_override_may_give_a_level_another_look() -> None:
    own = level_xml(0, "Step %1:", "lowerLetter", start=3)
    nums = f'<w:num w:numId="1"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">{own}</w:lvlOverride></w:num>'
    assert read(numbered("x", 1, 0), numbering_part(level_xml(0, "%1."), nums=nums)).text == "Step c:\tx"


@pytest.mark.parametrize(
    ("restart", "expected"),
    # Word: without a word it restarts after any level above, 0 is never, 1 is after the first level only.
    [(None, ["a1", "a2", "a1"]), (0, ["a1", "a2", "a3"]), (1, ["a1", "a2", "a3"])],
)
def test_a_level_restarts_after_the_level_that_it_names(restart: int | None, expected: list[str]) -> None:
    more = "" if restart is None else f'<w:lvlRestart w:val="{restart}"/>'
    parts = numbering_part(level_xml(0, "%1"), level_xml(1, "%2"), level_xml(2, "a%3", more=more))
    body = "".join(numbered("x", 1, level) for level in (0, 1, 2, 2, 1, 2))
    assert [label for label in labels(body, parts) if label.startswith("a")] == expected


def test_legal_numbers_are_decimal_whatever_the_levels_above_are() -> None:
    legal = level_xml(1, "%1.%2", more="<w:isLgl/>")
    parts = numbering_part(level_xml(0, "%1", "upperRoman"), legal, level_xml(2, "%1.%2.%3"))
    body = "".join(numbered("x", 1, level) for level in (0, 0, 1, 2))
    assert labels(body, parts) == ["I", "II", "2.1", "II.1.1"]


def test_a_list_may_be_that_of_a_style_also_in_a_circle() -> None:
    linked = '<w:abstractNum w:abstractNumId="5"><w:numStyleLink w:val="{}"/></w:abstractNum>'
    nums = (
        f'{linked.format("L")}<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="5"/></w:num>'
    )
    of_style = style("L", "List style", LIST_OF_HEADINGS, "numbering")
    body = numbered("x", 1, 0) + numbered("x", 2, 0)
    assert labels(body, numbering_part(level_xml(0, "%1)"), nums=nums) | styles_part(of_style)) == ["1)", "2)"]
    circle = style("L", "List style", LIST_OF_HEADINGS.replace('"1"', '"2"'), "numbering")
    assert labels(body, numbering_part(level_xml(0, "%1)"), nums=nums) | styles_part(circle)) == ["1)", "x"]


def test_empty_paragraphs_count_and_deleted_and_hidden_ones_do_not() -> None:
    parts = numbering_part(level_xml(0, "%1."))
    place = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    deleted = (
        f'<w:p><w:pPr>{place}<w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
        '<w:del w:id="2"><w:r><w:delText>NO</w:delText></w:r></w:del></w:p>'
    )
    vanish = "<w:rPr><w:vanish/></w:rPr>"
    hidden = f"<w:p><w:pPr>{place}{vanish}</w:pPr>{run('NO', vanish)}</w:p>"
    empty = f"<w:p><w:pPr>{place}</w:pPr></w:p>"
    body = numbered("a", 1, 0) + deleted + hidden + empty + numbered("b", 1, 0)
    assert read(body, parts).text == "1.\ta\n\n3.\tb"


def test_a_custom_format_pads_with_zeros() -> None:
    custom = (
        '<mc:AlternateContent><mc:Choice Requires="w14"><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/>'
        '</mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent>'
    )
    level = f'<w:lvl w:ilvl="0"><w:start w:val="9"/>{custom}<w:lvlText w:val="%1"/></w:lvl>'
    assert labels(numbered("x", 1, 0) + numbered("x", 1, 0), numbering_part(level)) == ["009", "010"]
    assert MC in numbering_part(level)["word/numbering.xml"]


def test_a_damaged_numbering_part_loses_numbers_and_no_text() -> None:
    lists = '<w:num/><w:num w:numId="1"/><w:abstractNum><w:lvl w:ilvl="x"/></w:abstractNum>'
    odd = f'<w:numbering xmlns:w="{W}">{lists}</w:numbering>'
    for xml in ("<broken", odd):
        assert read(numbered("x", 1, 0) + numbered("y", 1, 99), {"word/numbering.xml": xml}).text == "x\n\ny"
