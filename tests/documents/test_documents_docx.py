"""What becomes of the structures of a Word file."""

import pytest
from docx_parts import blocks, cell, control, docx_bytes, paragraph, read, run, style, styles_part, table

from teleembed_ray.documents.reader import read_document


def test_text_in_block_content_controls_is_read_in_place_however_deep_they_nest() -> None:
    body = paragraph("before") + control(control(paragraph("INSIDE"))) + paragraph("after")
    assert read(body).text == "before\n\nINSIDE\n\nafter"


@pytest.mark.parametrize(
    "wrap",
    [
        control,
        lambda content: f'<w:hyperlink w:anchor="x">{content}</w:hyperlink>',
        lambda content: f'<w:smartTag w:element="place">{content}</w:smartTag>',
        lambda content: f'<w:fldSimple w:instr=" REF x ">{content}</w:fldSimple>',
        lambda content: f'<w:ins w:id="1">{content}</w:ins>',
        lambda content: f'<w:moveTo w:id="1">{content}</w:moveTo>',
        lambda content: f'<w:customXml w:element="e">{content}</w:customXml>',
        lambda content: f'<w:dir w:val="ltr">{content}</w:dir>',
    ],
)
def test_every_wrapper_of_a_run_is_transparent(wrap) -> None:  # type: ignore[no-untyped-def]
    assert read(f"<w:p>{run('see ')}{wrap(run('TS 38.331'))}{run(' clause 5')}</w:p>").text == "see TS 38.331 clause 5"


def test_a_content_control_that_also_holds_a_picture_keeps_its_text() -> None:
    picture = "<w:r><w:drawing/></w:r>"
    assert read(control(f"<w:p>{picture}{run('INSIDE')}</w:p>")).text == "INSIDE"


def test_tracked_changes_read_as_accepted() -> None:
    deleted = '<w:del w:id="1"><w:r><w:delText>brown</w:delText></w:r></w:del>'
    inserted = f'<w:ins w:id="2">{run("crimson")}</w:ins>'
    moved = f'<w:moveFrom w:id="3">{run("OLD PLACE")}</w:moveFrom>'
    body = f"<w:p>{run('The quick ')}{deleted}{inserted}{run(' fox.')}{moved}</w:p><w:p>{inserted}</w:p>"
    assert read(body).text == "The quick crimson fox.\n\ncrimson"


def test_a_deleted_paragraph_mark_joins_two_paragraphs() -> None:
    mark = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    assert read(f"<w:p>{mark}{run('one ')}</w:p>{paragraph('text')}{paragraph('next')}").text == "one text\n\nnext"


def test_field_instructions_are_not_text_but_results_are() -> None:
    def character(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    def field(instruction: str, result: str) -> str:
        code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
        return f"{character('begin')}{code}{character('separate')}{result}{character('end')}"

    # The inner field stands in the instruction of the outer one: its result is not shown.
    inner = f"{character('begin')}<w:r><w:instrText> IF </w:instrText></w:r>{field(' REF ', run('HIDDEN'))}"
    outer = f"{inner}{character('separate')}{run('5.2')}{character('end')}"
    # An instruction without an end must not hide the rest of the document.
    broken = f"<w:p>{run('broken ')}{character('begin')}</w:p>"
    body = f"<w:p>{run('clause ')}{outer}{run(' and ')}{field(' REF y ', run('6.1'))}</w:p>{broken}{paragraph('rest')}"
    assert read(body).text == "clause 5.2 and 6.1\n\nbroken\n\nrest"


def test_alternate_content_and_text_boxes_are_read_once_after_their_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph('BOX')}</w:txbxContent>"
    choice = (
        f'<mc:Choice Requires="wps"><w:drawing><wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp></w:drawing></mc:Choice>'
    )
    fallback = f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
    drawing = f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>"
    body = f"<w:p>{run('anchor ')}{drawing}{run('text')}</w:p>{paragraph('next')}"
    assert read(body).text == "anchor text\n\nBOX\n\nnext"
    twice = f"<mc:Choice>{paragraph('A')}</mc:Choice><mc:Fallback>{paragraph('A')}</mc:Fallback>"
    block = f"<mc:AlternateContent>{twice}</mc:AlternateContent>"
    assert read(block + paragraph("next")).text == "A\n\nnext"
    old_only = f"<w:p>{run('x')}<w:r><mc:AlternateContent>{fallback}</mc:AlternateContent></w:r></w:p>"
    assert read(old_only).text == "x\n\nBOX"


def test_labels_of_a_grouped_drawing_are_a_figure_and_are_counted() -> None:
    box = f"<wps:txbx><w:txbxContent>{paragraph('LABEL')}</w:txbxContent></wps:txbx>"
    drawing = f"<w:r><w:drawing><wpg:wgp><wps:wsp>{box}</wps:wsp></wpg:wgp></w:drawing></w:r>"
    document = read(f"<w:p>{drawing}</w:p>{paragraph('Figure 1: Lanes')}")
    assert document.text == "Figure 1: Lanes"
    assert document.num_dropped_chars == len("LABEL")


def test_special_characters() -> None:
    marks = (
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/></w:r>"
    )
    symbol = (
        '<w:r><w:sym w:font="Symbol" w:char="F0A3"/><w:sym w:font="Wingdings" w:char="F0E0"/><w:sym w:char="zz"/></w:r>'
    )
    typed = run("e\u00adf\u00a0g \ufb01 \uf0ae")
    body = f"<w:p>{marks}{typed}{symbol}</w:p>"
    assert read(body).text == "a\tb\nc-def g fi \u2192\u2264\u2022"


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        # The codes of Adobe's Symbol encoding, with and without U+F000.
        ('w:font="Symbol" w:char="F0AF"', "\u2193"),
        ('w:font="Symbol" w:char="006D"', "\u03bc"),
        ('w:font="Symbol" w:char="F0D6"', "\u221a"),
        ('w:font="Symbol" w:char="F0B6"', "\u2202"),
        ('w:font="Symbol" w:char="F0FE"', "\u23ad"),
        ('w:font="Symbol" w:char="F0F0"', "\ufffd"),
        ('w:font="Arial" w:char="D800"', "\ufffd"),
        ('w:font="Arial" w:char="F0000"', "\ufffd"),
        ('w:font="Arial" w:char="-1"', "\ufffd"),
        ('w:font="Arial" w:char="FFFFFFFFFF"', "\ufffd"),
    ],
)
def test_a_symbol_is_one_character_that_touches_no_other(symbol: str, text: str) -> None:
    body = f"<w:p>{run('a')}<w:r><w:sym {symbol}/></w:r>{run('b')}</w:p>"
    document = read(body)
    assert document.text == f"a{text}b"


def test_typed_codes_of_the_symbol_font_are_signs_and_those_of_wingdings_are_bullets() -> None:
    assert (
        read(paragraph("up \uf0ad down \uf0af \uf0a7 item \uf0e8")).text == "up \u2191 down \u2193 \u2022 item \u2022"
    )


def field_mark(kind: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:fldChar w:fldCharType="{kind}"/></w:r>'


HIDDEN = "<w:rPr><w:vanish/></w:rPr>"
NESTED = field_mark("begin") + field_mark("separate") + run("x") + field_mark("end")


@pytest.mark.parametrize(
    "content",
    [
        # Ends that are hidden, deleted or missing.
        field_mark("begin") + run("instruction") + field_mark("end", HIDDEN) + run("5 after"),
        f"{field_mark('begin')}{run('instruction')}<w:del>{field_mark('end')}</w:del>{run('5 after')}",
        field_mark("begin") + run("5") + run(" after"),
        field_mark("begin", HIDDEN) + field_mark("separate", HIDDEN) + run("5 after") + field_mark("end", HIDDEN),
        # A result within an instruction is not shown.
        field_mark("begin") + NESTED + field_mark("separate") + run("5") + field_mark("end") + run(" after"),
        f"{field_mark('begin')}{run('instruction')}{field_mark('end')}{run('5 after')}",
    ],
)
def test_a_field_takes_no_text_along_however_it_ends(content: str) -> None:
    assert read(f"<w:p>{run('before ')}{content}</w:p>").text == "before 5 after"


def test_signs_that_xml_escapes_are_themselves_in_text_and_in_symbols() -> None:
    symbol = '<w:r><w:sym w:font="Arial" w:char="0026"/></w:r>'
    body = f"<w:p>{run('a &lt; b')}{symbol}{run('amp; &#x2264; &#8805; &amp;lt;')}</w:p>"
    assert read(body).text == "a < b&amp; \u2264 \u2265 &lt;"


def test_hidden_text_is_left_out_unless_the_toggle_is_off() -> None:
    hidden = run("HIDDEN", "<w:rPr><w:vanish/></w:rPr>")
    shown = run("shown", '<w:rPr><w:vanish w:val="0"/></w:rPr>')
    assert read(f"<w:p>{hidden}{shown}</w:p>").text == "shown"


def test_contents_lists_are_dropped_by_style_name_in_any_language_and_by_leader() -> None:
    leader = '<w:pPr><w:tabs><w:tab w:val="right" w:leader="dot" w:pos="9000"/></w:tabs></w:pPr>'
    entry = f"<w:p>{leader}{run('2 References')}<w:r><w:tab/></w:r>{run('17')}</w:p>"
    kept = f"<w:p>{leader}{run('no page number here')}</w:p>"
    body = paragraph("1 Scope 5", "Verzeichnis1") + entry + kept + paragraph("1 Scope", "berschrift1")
    assert read(body).text == "no page number here\n\n1 Scope"


def test_text_in_the_style_of_a_contents_entry_is_text_where_it_has_no_page_number() -> None:
    parts = styles_part(style("TOC1", "toc 1"), style("TOCHeading", "TOC Heading"))
    body = paragraph("Contents", "TOCHeading") + paragraph("1 Scope iv", "TOC1") + paragraph("Foreword text.", "TOC1")
    assert blocks(body, parts) == [
        ("contents", "Contents", 0),
        ("contents", "1 Scope iv", 1),
        ("paragraph", "Foreword text.", 0),
    ]


def test_lines_of_a_listing_stay_together_with_their_indentation() -> None:
    body = (
        paragraph("A ::= SEQUENCE {", "PL") + paragraph("  b INTEGER", "PL") + paragraph("}", "PL") + paragraph("end")
    )
    assert read(body).text == "A ::= SEQUENCE {\n  b INTEGER\n}\n\nend"


def test_the_title_falls_back_from_properties_to_text_to_the_name() -> None:
    def core(title: str) -> dict[str, str]:
        return {"docProps/core.xml": f'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></c>'}

    body = paragraph("Contents") + paragraph("Widget Guide", "berschrift1")
    assert read(body, core("TS 12.345")).title == "TS 12.345"
    for nothing in ("", "Document1", "Untitled", "Microsoft Word - ", "3GPP spec skeleton", "O-RAN TS Template"):
        assert read(body, core(nothing)).title == "Widget Guide"
    assert read_document("x/24229-i40.docx", docx_bytes(paragraph("Contents"))).title == "24229-i40"


def test_wrappers_inside_wrappers_and_runs_inside_runs_lose_nothing() -> None:
    inserted = f'<w:r><w:ins w:id="1">{run("b")}</w:ins></w:r>'
    nested_field = f'<w:fldSimple w:instr=" IF "><w:fldSimple w:instr=" REF ">{run("c")}</w:fldSimple></w:fldSimple>'
    override = f'<w:bdo w:val="rtl">{run("d")}</w:bdo>'
    ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('NO')}</w:rt><w:rubyBase>{run('e')}</w:rubyBase></w:ruby></w:r>"
    broken = "<w:r><w:lastRenderedPageBreak/><w:t>f</w:t></w:r>"
    body = f"<w:p>{run('a')}{inserted}{nested_field}{override}{ruby}{broken}</w:p>"
    assert read(body).text == "abcdef"


def test_alternatives_around_a_run_and_around_paragraphs_are_read_once() -> None:
    def either(new: str, old: str) -> str:
        return (
            f'<mc:AlternateContent><mc:Choice Requires="w14">{new}</mc:Choice>'
            f"<mc:Fallback>{old}</mc:Fallback></mc:AlternateContent>"
        )

    inner = either(paragraph("inner"), paragraph("INNER"))
    body = f"<w:p>{either(run('new'), run('OLD'))}</w:p>{either(paragraph('one') + inner, paragraph('TWO') + inner)}"
    assert read(body + paragraph("end")).text == "new\n\none\n\ninner\n\nend"
    only_old = f"<mc:AlternateContent><mc:Fallback>{paragraph('old')}</mc:Fallback></mc:AlternateContent>"
    assert read(only_old).text == "old"
    second = '<mc:Choice Requires="x">' + paragraph("SECOND") + "</mc:Choice>"
    two = f'<mc:AlternateContent><mc:Choice Requires="y">{paragraph("first")}</mc:Choice>{second}</mc:AlternateContent>'
    assert read(two).text == "first"


def test_an_embedded_object_leaves_the_text_around_it() -> None:
    embedded = '<w:r><w:object><v:shape id="x"/></w:object></w:r>'
    assert read(f"<w:p>{run('before ')}{embedded}{run('after')}</w:p>").text == "before after"


def test_tabs_to_a_place_and_every_kind_of_break_part_words() -> None:
    marks = '<w:r><w:t>a</w:t><w:ptab w:alignment="right"/><w:t>b</w:t><w:br w:type="page"/><w:t>c</w:t><w:cr/></w:r>'
    assert read(f"<w:p>{marks}{run('d')}</w:p>").text == "a\tb\nc\nd"


def test_a_moved_paragraph_stands_at_its_new_place_only() -> None:
    mark = "<w:pPr><w:rPr><w:moveFrom w:id='1'/></w:rPr></w:pPr>"
    old = f"<w:p>{mark}<w:moveFrom w:id='2'>{run('moved')}</w:moveFrom></w:p>"
    new = f"<w:p><w:moveTo w:id='3'>{run('moved')}</w:moveTo></w:p>"
    assert read(paragraph("a") + old + paragraph("b") + new).text == "a\n\nb\n\nmoved"


def test_a_paragraph_that_is_joined_with_the_next_takes_its_style() -> None:
    mark = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    body = f"<w:p>{mark}{run('Sco')}</w:p>{paragraph('pe', 'berschrift1')}"
    assert blocks(body) == [("heading", "Scope", 1)]


def test_a_deleted_mark_before_a_table_or_at_the_end_loses_no_text() -> None:
    mark = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    body = f"<w:p>{mark}{run('before')}</w:p>{table(cell(paragraph('cell')))}<w:p>{mark}{run('last')}</w:p>"
    assert read(body).text == "before\n\nlast"
    assert read(body, keep_tables=True).text == "before\n\ncell\n\nlast"


def test_a_style_hides_text_unless_the_run_says_otherwise() -> None:
    parts = styles_part(
        style("Hid", "Hidden", "<w:rPr><w:vanish/></w:rPr>"),
        style("HidToo", "Hidden too", '<w:basedOn w:val="Hid"/>'),
        style("HidRun", "Hidden run", "<w:rPr><w:vanish/></w:rPr>", "character"),
    )
    shown = run("shown", '<w:rPr><w:vanish w:val="false"/></w:rPr>')
    hidden = run("NO", '<w:rPr><w:rStyle w:val="HidRun"/></w:rPr>')
    body = f'<w:p><w:pPr><w:pStyle w:val="HidToo"/></w:pPr>{run("NO")}{shown}</w:p><w:p>{run("a")}{hidden}</w:p>'
    assert read(body, parts).text == "shown\n\na"
    plain = run("NO", '<w:rPr><w:rStyle w:val="Other"/></w:rPr>')
    assert read(f'<w:p><w:pPr><w:pStyle w:val="Hid"/></w:pPr>{plain}{shown}</w:p>', parts).text == "shown"


def test_kinds_and_levels_come_from_names_from_what_a_style_is_based_on_and_from_outlines() -> None:
    parts = styles_part(
        style("H1", "heading 1", "<w:pPr><w:outlineLvl w:val='0'/></w:pPr>"),
        style("Own", "Clause", '<w:basedOn w:val="H1"/>'),
        style("TT", "TT", '<w:basedOn w:val="H1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>'),
        style("H6", "H6", '<w:basedOn w:val="TT"/>'),
        style("TF", "TF"),
        style("Title", "Title"),
        style("Loop", "Loop", '<w:basedOn w:val="Loop2"/>'),
        style("Loop2", "Loop 2", '<w:basedOn w:val="Loop"/>'),
    )
    outlined = f'<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr>{run("by outline")}</w:p>'
    body = "".join(paragraph(name, name) for name in ("Title", "H1", "Own", "TT", "H6", "TF", "Loop", "Unknown"))
    assert blocks(body + outlined, parts) == [
        ("title", "Title", 0),
        ("heading", "H1", 1),
        ("heading", "Own", 1),
        ("paragraph", "TT", 0),
        ("heading", "H6", 6),
        ("caption", "TF", 0),
        ("paragraph", "Loop", 0),
        ("paragraph", "Unknown", 0),
        ("heading", "by outline", 3),
    ]


def test_a_blank_line_of_a_listing_and_a_paragraph_part_its_lines() -> None:
    body = (
        paragraph("a {", "PL") + paragraph("", "PL") + paragraph("}", "PL") + paragraph("text") + paragraph("b", "PL")
    )
    assert read(body).text == "a {\n\n}\n\ntext\n\nb"


def test_the_paragraphs_of_a_text_box_keep_their_kinds() -> None:
    box = f"<w:txbxContent>{paragraph('Clause', 'berschrift1')}{paragraph('text')}</w:txbxContent>"
    body = f"<w:p>{run('anchor')}<w:r><w:pict><v:textbox>{box}</v:textbox></w:pict></w:r></w:p>"
    assert blocks(body) == [("paragraph", "anchor", 0), ("heading", "Clause", 1), ("paragraph", "text", 0)]


def test_text_drawn_by_drawingml_is_counted_as_a_figure() -> None:
    drawn = '<a:t xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">LABEL</a:t>'
    document = read(f"<w:p><w:r><w:drawing>{drawn}</w:drawing></w:r></w:p>{paragraph('Figure 1')}")
    assert (document.text, document.num_dropped_chars) == ("Figure 1", 5)


def note(part: str, note_id: int, content: str) -> str:
    tag = part.removesuffix("s")
    return f'<w:{tag} w:id="{note_id}">{content}</w:{tag}>'


def notes_part(part: str, *notes: str) -> dict[str, str]:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return {f"word/{part}.xml": f'<w:{part} xmlns:w="{namespace}">{"".join(notes)}</w:{part}>'}


def reference(part: str, note_id: int) -> str:
    return f'<w:r><w:{part.removesuffix("s")}Reference w:id="{note_id}"/></w:r>'


def test_notes_follow_the_paragraph_that_refers_to_them_each_once() -> None:
    parts = notes_part(
        "footnotes",
        note("footnotes", 0, "<w:p><w:r><w:separator/></w:r></w:p>"),
        note("footnotes", 2, f"<w:p><w:r><w:footnoteRef/></w:r>{run(' FOOT')}</w:p>{paragraph('more')}"),
    ) | notes_part("endnotes", note("endnotes", 2, paragraph("END")))
    first = f"<w:p>{run('one')}{reference('endnotes', 2)}{run(' and')}{reference('footnotes', 2)}</w:p>"
    again = f"<w:p>{run('two')}{reference('footnotes', 2)}{reference('footnotes', 9)}</w:p>"
    assert read(first + again, parts).text == "one and\n\nEND\n\nFOOT\nmore\n\ntwo"
    assert blocks(first, parts)[1] == ("note", "END", 0)


def test_a_note_of_deleted_text_is_not_there_and_one_in_a_table_stands_in_its_cell() -> None:
    parts = notes_part("footnotes", *(note("footnotes", number, paragraph(f"NOTE{number}")) for number in (2, 3)))
    deleted = f'<w:p>{run("text")}<w:del w:id="1">{reference("footnotes", 2)}</w:del></w:p>'
    row = table(cell(f"<w:p>{run('cell')}{reference('footnotes', 3)}</w:p>") + cell(paragraph("next")))
    assert read(deleted + row, parts).text == "text"
    assert read(deleted + row, parts).num_dropped_chars == len("cellNOTE3next")
    assert read(deleted + row, parts, keep_tables=True).text == "text\n\ncell NOTE3\tnext"
