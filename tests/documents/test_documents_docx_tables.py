"""Tables of a Word file, left out and counted, or kept."""

import pytest
from docx_parts import (
    blocks,
    cell,
    control,
    level_xml,
    numbered,
    numbering_part,
    paragraph,
    read,
    run,
    style,
    styles_part,
    table,
)

from teleembed_ray.documents.docx import shapes


@pytest.mark.parametrize(
    "body",
    [
        table(cell(paragraph("cell"))),
        control(table(cell(paragraph("cell")))),
        "<w:tbl>" + control(f"<w:tr>{cell(paragraph('cell'))}</w:tr>") + "</w:tbl>",
        f"<w:tbl><w:tr>{control(cell(paragraph('cell')))}</w:tr></w:tbl>",
        table(cell(control(paragraph("cell")))),
    ],
)
def test_a_table_is_left_out_and_counted_wherever_a_content_control_stands(body: str) -> None:
    document = read(paragraph("before") + body + paragraph("after"))
    assert document.text == "before\n\nafter"
    assert document.num_dropped_chars == len("cell")


def test_nested_tables_and_merged_cells_are_counted_once() -> None:
    nested = table(cell(paragraph("NESTED")))
    body = table(
        f'<w:tc><w:tcPr><w:gridSpan w:val="3"/></w:tcPr>{paragraph("MERGED")}</w:tc>',
        cell(paragraph("before") + nested + paragraph("after")),
    )
    document = read(paragraph("first") + body + paragraph("last"))
    assert document.text == "first\n\nlast"
    assert document.num_dropped_chars == len("MERGED" + "before" + "NESTED" + "after")


def test_a_text_box_inside_a_table_is_part_of_the_table() -> None:
    box = f"<w:r><w:pict><v:textbox><w:txbxContent>{paragraph('BOX')}</w:txbxContent></v:textbox></w:pict></w:r>"
    document = read(table(cell(f"<w:p>{run('cell')}{box}</w:p>")) + paragraph("after"))
    assert document.text == "after"
    assert document.num_dropped_chars == len("cellBOX")


def test_kept_tables_are_a_line_a_row_with_merged_cells_once_and_nested_tables_in_order() -> None:
    nested = table(cell(paragraph("NESTED")) + cell(paragraph("too")))
    merged = f'<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{paragraph("MERGED")}</w:tc>'
    second = cell(paragraph("before") + nested + paragraph("after")) + cell(paragraph("x") + paragraph("y"))
    down = '<w:tc><w:tcPr><w:vMerge w:val="{}"/></w:tcPr>{}</w:tc>'
    third = down.format("restart", paragraph("DOWN")) + cell(paragraph("1"))
    fourth = down.format("continue", "<w:p/>") + cell(paragraph("2"))
    body = paragraph("first") + table(merged, second, third, fourth) + paragraph("last")
    rows = "MERGED\nbefore NESTED too after\tx y\nDOWN\t1\n\t2"
    assert read(body, keep_tables=True).text == f"first\n\n{rows}\n\nlast"
    assert read(body, keep_tables=True).num_dropped_chars == 0
    assert [block for block in blocks(body) if block[0] == "table_row"] == [
        ("table_row", row, 0) for row in rows.split("\n")
    ]


def test_deleted_rows_and_cells_are_gone_and_inserted_ones_stay() -> None:
    gone = f'<w:tr><w:trPr><w:del w:id="1"/></w:trPr>{cell(paragraph("GONE"))}</w:tr>'
    added = f'<w:tr><w:trPr><w:ins w:id="2"/></w:trPr>{cell(paragraph("new"))}</w:tr>'
    cut = f'<w:tc><w:tcPr><w:cellDel w:id="3"/></w:tcPr>{paragraph("GONE")}</w:tc>'
    body = f"<w:tbl>{gone}{added}<w:tr>{cut}{cell(paragraph('kept'))}</w:tr></w:tbl>{paragraph('end')}"
    assert read(body, keep_tables=True).text == "new\nkept\n\nend"
    assert read(body).num_dropped_chars == len("newkept")
    counted = f"<w:tbl>{gone.replace(paragraph('GONE'), numbered('GONE', 1, 0))}{added}</w:tbl>{numbered('end', 1, 0)}"
    assert read(counted, numbering_part(level_xml(0, "%1."))).text == "1.\tend"


def test_a_table_that_is_only_counted_counts_what_the_kept_one_shows() -> None:
    def field(result: str) -> str:
        kinds = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
        begin, separate, end = kinds
        return f"{begin}<w:r><w:instrText> REF </w:instrText></w:r>{separate}{run(result)}{end}"

    hidden = run("NO", "<w:rPr><w:vanish/></w:rPr>")
    contents = {
        "plain &amp; s\u00adoft": len("plain & soft"),
        "tab": len("tab"),
    }
    for text, count in contents.items():
        assert read(table(cell(paragraph(text))) + paragraph("end")).num_dropped_chars == count
    assert read(table(cell(f"<w:p>{hidden}{run('yes')}</w:p>")) + paragraph("end")).num_dropped_chars == 3
    assert read(table(cell(f"<w:p>{field('12')}</w:p>")) + paragraph("end")).num_dropped_chars == 2
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    instruction = f"<w:p>{begin}{field('NO')}<w:r><w:fldChar w:fldCharType='separate'/></w:r>{run('yes')}</w:p>"
    assert read(table(cell(instruction)) + paragraph("end")).num_dropped_chars == 3
    deleted = '<w:del w:id="1"><w:r><w:delText>NO</w:delText></w:r></w:del>'
    assert read(table(cell(f"<w:p>{deleted}{run('yes')}</w:p>")) + paragraph("end")).num_dropped_chars == 3


def test_a_number_in_a_table_counts_for_the_list_whether_the_table_is_kept_or_not() -> None:
    parts = numbering_part(level_xml(0, "%1."))
    body = numbered("a", 1, 0) + table(cell(numbered("b", 1, 0))) + numbered("c", 1, 0)
    assert read(body, parts).text == "1.\ta\n\n3.\tc"
    assert read(body, parts, keep_tables=True).text == "1.\ta\n\n2. b\n\n3.\tc"
    styled = parts | styles_part(style("N", "Numbered", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'))
    body = paragraph("a", "N") + table(cell(paragraph("b", "N"))) + paragraph("c", "N")
    assert read(body, styled).text == "1.\ta\n\n3.\tc"


@pytest.mark.parametrize("block_bytes", [700, 701, 731, 997])
def test_nothing_depends_on_where_a_block_of_the_file_ends(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    nested = table(cell(paragraph("in") + table(cell(paragraph("deep"))) + paragraph("out")), cell(paragraph("next")))
    body = "".join(f"{paragraph(f'text {number}')}{nested}" for number in range(40))
    whole = read(body)
    monkeypatch.setattr(shapes, "_BLOCK_BYTES", block_bytes)
    assert read(body) == whole
    assert whole.num_dropped_chars == 40 * len("indeepoutnext")
