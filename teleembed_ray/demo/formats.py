"""A specification -> the bytes of a DOCX, PDF or Markdown file, the same bytes each time."""

import io
import zipfile
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_TAB_ALIGNMENT, WD_TAB_LEADER
from docx.shared import Cm
from reportlab.graphics.shapes import Drawing, Line, Rect
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import cm
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Table as PdfTable
from reportlab.platypus.tableofcontents import TableOfContents

from teleembed_ray.demo.specification import Block, Figure, Heading, Specification, Table

# The earliest moment that a zip can hold.
_MOMENT = datetime(1980, 1, 1)


def _rezipped(data: bytes) -> bytes:
    """Return the same zip with fixed times, so that its bytes do not depend on the clock."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            info = zipfile.ZipInfo(name, _MOMENT.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, source.read(name))
    return buffer.getvalue()


def _docx_block(document: Any, block: Block) -> None:
    if isinstance(block, Heading):
        document.add_heading(block.text, level=block.level)
    elif isinstance(block, Table):
        document.add_paragraph(block.caption, style="Caption")
        table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
        for row in block.rows:
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
    elif isinstance(block, Figure):
        document.add_paragraph(block.caption, style="Caption")
    else:
        document.add_paragraph(block.text, style="List Paragraph" if block.kind == "item" else "Normal")


def docx_bytes(specification: Specification) -> bytes:
    """Specification -> DOCX with a cover, a contents page, headings, tables, a header and a footer."""
    document = docx.Document()
    properties = document.core_properties
    properties.author = properties.last_modified_by = specification.family
    properties.title = f"{specification.number}: {specification.title}"
    properties.created = properties.modified = _MOMENT
    section = document.sections[0]
    section.header.paragraphs[0].text = specification.header
    section.footer.paragraphs[0].text = specification.footer
    contents_style = document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    contents_style.paragraph_format.tab_stops.add_tab_stop(Cm(15), WD_TAB_ALIGNMENT.RIGHT, WD_TAB_LEADER.DOTS)
    document.add_paragraph(f"{specification.number} V{specification.version}", style="Title")
    document.add_paragraph(specification.title, style="Subtitle")
    document.add_page_break()
    for position, heading in enumerate(specification.headings):
        if heading.level < 3:
            # Word computes page numbers when it lays the document out; until then any number stands there.
            document.add_paragraph(f"{heading.text}\t{3 + position // 4}", style=contents_style)
    document.add_page_break()
    for block in specification.blocks:
        _docx_block(document, block)
    buffer = io.BytesIO()
    document.save(buffer)
    return _rezipped(buffer.getvalue())


class _PdfTemplate(BaseDocTemplate):  # type: ignore[misc]
    """A layout that tells the contents page where each heading came to stand."""

    def afterFlowable(self, flowable: Any) -> None:  # noqa: N802 (ReportLab's name)
        heading = getattr(flowable, "heading", None)
        if heading is not None and heading.level < 3:
            self.notify("TOCEntry", (heading.level - 1, escape(heading.text), self.page))


def _pdf_styles() -> dict[str, ParagraphStyle]:
    sample = getSampleStyleSheet()
    body = ParagraphStyle("body", sample["BodyText"], fontSize=10, leading=12, spaceAfter=6)
    return {
        "title": sample["Title"],
        "body": body,
        "note": ParagraphStyle("note", body, leftIndent=20),
        "item": ParagraphStyle("item", body, leftIndent=14, spaceAfter=3),
        "caption": ParagraphStyle("caption", body, alignment=1, fontName="Helvetica-Bold"),
        "1": sample["Heading1"],
        "2": sample["Heading2"],
        "3": sample["Heading3"],
    }


def _pdf_figure(figure: Figure) -> Drawing:
    """Draw a sequence chart without words: heads, lifelines and messages."""
    drawing = Drawing(12 * cm, 3 * cm)
    lanes = [(1 + 10 * lane / (figure.num_lanes - 1)) * cm for lane in range(figure.num_lanes)]
    for x in lanes:
        drawing.add(Rect(x - 0.8 * cm, 2.4 * cm, 1.6 * cm, 0.5 * cm, fillColor=colors.white))
        drawing.add(Line(x, 0, x, 2.4 * cm))
    for row, y in enumerate((1.8 * cm, 1.1 * cm, 0.4 * cm)):
        lane = row % (figure.num_lanes - 1)
        drawing.add(Line(lanes[lane], y, lanes[lane + 1], y))
    return drawing


def _pdf_flowables(block: Block, styles: dict[str, ParagraphStyle]) -> list[Any]:
    if isinstance(block, Heading):
        paragraph = Paragraph(escape(block.text), styles[str(block.level)])
        paragraph.heading = block
        return [paragraph]
    if isinstance(block, Table):
        rows = [[Paragraph(escape(cell), styles["body"]) for cell in row] for row in block.rows]
        table = PdfTable(rows, colWidths=[4 * cm] * len(rows[0]), repeatRows=1)
        table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
        return [Paragraph(escape(block.caption), styles["caption"]), table, Spacer(1, 12)]
    if isinstance(block, Figure):
        return [_pdf_figure(block), Paragraph(escape(block.caption), styles["caption"])]
    return [Paragraph(escape(block.text), styles[block.kind])]


def pdf_bytes(specification: Specification) -> bytes:
    """Specification -> PDF with a cover, a contents page, ruled tables, running lines and page numbers."""
    buffer = io.BytesIO()
    styles = _pdf_styles()

    def running_lines(canvas: Any, template: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(2 * cm, A4[1] - 1.2 * cm, specification.header)
        canvas.drawString(2 * cm, 1.2 * cm, specification.footer)
        canvas.drawRightString(A4[0] - 2 * cm, 1.2 * cm, str(template.page))

    template = _PdfTemplate(
        buffer,
        pagesize=A4,
        title=f"{specification.number}: {specification.title}",
        author=specification.family,
        invariant=1,
    )
    frame = Frame(2 * cm, 2.2 * cm, A4[0] - 4 * cm, A4[1] - 4.4 * cm)
    template.addPageTemplates(PageTemplate(frames=[frame], onPage=running_lines))
    contents = TableOfContents(dotsMinLevel=0)
    story: list[Any] = [
        Spacer(1, 6 * cm),
        Paragraph(escape(f"{specification.number} V{specification.version}"), styles["title"]),
        Paragraph(escape(specification.title), styles["title"]),
        PageBreak(),
        contents,
        PageBreak(),
    ]
    for block in specification.blocks:
        story += _pdf_flowables(block, styles)
    template.multiBuild(story)
    return buffer.getvalue()


def _markdown_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * (block.level + 1)} {block.text}"
    if isinstance(block, Table):
        header, *rows = (f"| {' | '.join(row)} |" for row in block.rows)
        delimiter = f"|{'---|' * len(block.rows[0])}"
        return "\n".join((f"*{block.caption}*", "", header, delimiter, *rows))
    if isinstance(block, Figure):
        return f"![sequence chart](figures/{block.num_lanes}-lanes.svg)\n\n*{block.caption}*"
    return f"- {block.text}" if block.kind == "item" else block.text


def markdown_bytes(specification: Specification) -> bytes:
    """Specification -> Markdown with pipe tables and images."""
    title = f"# {specification.number}: {specification.title}"
    return "\n\n".join((title, *map(_markdown_block, specification.blocks))).encode() + b"\n"


WRITERS = {"docx": docx_bytes, "pdf": pdf_bytes, "md": markdown_bytes}
