"""Which lines of a page are tables or labels of a drawing, and the rows of a table as lines.

Evidence, from strong to weak:

- upright rulings, three or more side by side (also: lifelines of a diagram), or one between two level rules of one
  length;
- level rules of one length with rows of several pieces between them;
- without rulings: three rows or more whose pieces stand under each other in three columns or more, or in two under a
  caption "Table". Two columns alone are no evidence: lists of abbreviations are set like that.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from teleembed_ray.documents.pdf_drawing import Box, Drawing, Stroke
from teleembed_ray.documents.pdf_layout import Cell, Line
from teleembed_ray.documents.pdf_page import Page

# Nothing is written in a column narrower than this: it is a change bar beside a frame, or a double line.
_MIN_COLUMN_PT = 14.0
# A row of merged cells has no inner ruling: it lies within this distance of a row that has.
_MERGED_ROW_PT = 40.0
_MIN_RULE_PT = 60.0
_SAME_END_PT = 3.0
_MIN_SHARED_FRACTION = 0.8
_MIN_SPLIT_FRACTION = 0.5
_MIN_ROWS_BETWEEN_TWO_RULES = 3
_MIN_ALIGNED_ROWS = 3
_MIN_ALIGNED_COLUMNS = 3
_ALIGNED_PT = 3.0
_MIN_ALIGNED_FRACTION = 0.7
_CAPTION_REACH = 3

_TABLE_CAPTION = re.compile(r"Table\s+[\dA-Z]")
_FIGURE_CAPTION = re.compile(r"(Figure|Fig\.)\s+[\dA-Z]")
_MARK = re.compile(r"(\W{1,2}|\(?[a-zA-Z\d]{1,3}[.):]|\[\d+\]|[\dA-Z]+(\.[\dA-Z]+)*|(NOTE|EXAMPLE|Step)( \d+)?:?)")
_CODE = re.compile(r"[{}|;]|::=|//|/\*|--|==?\s|->|,$")

_MIN_DRAWN = 3
_MIN_FIGURE_PT = 20.0
_FIGURE_GAP_PT = 40.0
_LABEL_REACH_PT = 10.0
_MAX_LABEL_WORDS = 8
_PROSE_WIDTH_FRACTION = 0.6


def _is_between_rulings(line: Line, drawing: Drawing) -> bool:
    """Whether a line lies between two rulings that reach over it, with a third one between them."""
    y = line.center
    around = [ruling.at for ruling in drawing.upright if ruling.low <= y <= ruling.high]
    if len(around) < 2:
        return False
    first, last = min(around), max(around)
    if not first <= line.middle <= last:
        return False
    return any(
        first + _MIN_COLUMN_PT < ruling.at < last - _MIN_COLUMN_PT
        and ruling.low - _MERGED_ROW_PT <= y <= ruling.high + _MERGED_ROW_PT
        for ruling in drawing.upright
    )


def _has_several_cells(line: Line) -> bool:
    """Whether a line is in pieces, a list mark or clause number aside."""
    return len(_columns_of(line)) > 1


def _columns_of(line: Line) -> Sequence[Cell]:
    return line.cells[1:] if len(line.cells) > 1 and _MARK.fullmatch(line.cells[0].text) else line.cells


def _is_over(rule: Stroke, other: Stroke) -> bool:
    """Whether two level rules cover most of each other, so that nothing between them belongs to a third."""
    shared = min(rule.high, other.high) - max(rule.low, other.low)
    return shared > _MIN_SHARED_FRACTION * max(rule.high - rule.low, other.high - other.low)


def _spaces(drawing: Drawing) -> Iterator[list[tuple[Stroke, Stroke] | None]]:
    """Yield stacks of spaces, from the top, each between two level rules; None stands where their ends differ."""
    stacks: list[list[Stroke]] = []
    for rule in sorted(drawing.level, key=lambda rule: -rule.at):
        if rule.high - rule.low < _MIN_RULE_PT:
            continue
        for stack in stacks:
            if _is_over(stack[-1], rule):
                stack.append(rule)
                break
        else:
            stacks.append([rule])
    for stack in stacks:
        yield [
            (top, bottom)
            if abs(top.low - bottom.low) < _SAME_END_PT and abs(top.high - bottom.high) < _SAME_END_PT
            else None
            for top, bottom in pairwise(stack)
        ]


def _has_ruling(drawing: Drawing, top: Stroke, bottom: Stroke) -> bool:
    """Whether an upright ruling parts the space between two level rules."""
    middle = (top.at + bottom.at) / 2
    return any(
        ruling.low <= middle <= ruling.high and top.low + _MIN_COLUMN_PT < ruling.at < top.high - _MIN_COLUMN_PT
        for ruling in drawing.upright
    )


@dataclass(frozen=True)
class _Space:
    """What lies between two level rules; `is_split`: most rows are in pieces, `is_parted`: by a ruling."""

    lines: tuple[Line, ...] = ()
    num_rows: int = 0
    is_split: bool = False
    is_parted: bool = False


def _read_space(lines: Sequence[Line], drawing: Drawing, top: Stroke, bottom: Stroke) -> _Space:
    inside = [line for line in lines if bottom.at < line.center < top.at and top.low - 1 <= line.middle <= top.high + 1]
    if not inside:
        return _Space()
    rows = [list(row) for _, row in groupby(inside, key=lambda line: round(line.baseline))]
    num_split = sum(len(row) > 1 or _has_several_cells(row[0]) for row in rows)
    is_split = num_split >= _MIN_SPLIT_FRACTION * len(rows)
    return _Space(tuple(inside), len(rows), is_split, _has_ruling(drawing, top, bottom))


def _between_rules(lines: Sequence[Line], drawing: Drawing) -> Iterator[Line]:
    """Yield the lines between level rules of one length, where most rows are in pieces or parted by a ruling."""
    for stack in _spaces(drawing):
        spaces = [_read_space(lines, drawing, *rules) if rules else _Space() for rules in stack]
        for index, space in enumerate(spaces):
            neighbours = [spaces[place] for place in (index - 1, index + 1) if 0 <= place < len(spaces)]
            has_split_neighbour = any(neighbour.is_split and not neighbour.is_parted for neighbour in neighbours)
            is_table = space.is_split and (has_split_neighbour or space.num_rows >= _MIN_ROWS_BETWEEN_TWO_RULES)
            if space.is_parted or is_table:
                yield from space.lines


def _is_aligned(cell: Cell, others: Sequence[Cell]) -> bool:
    """Whether one of the other cells stands under a cell: left, right or in the middle."""
    return any(
        abs(cell.left - other.left) < _ALIGNED_PT
        or abs(cell.right - other.right) < _ALIGNED_PT
        or abs(cell.left + cell.right - other.left - other.right) < 2 * _ALIGNED_PT
        for other in others
    )


def _is_listing(rows: Sequence[Line]) -> bool:
    return 2 * sum(line.is_monospaced or _CODE.search(line.text) is not None for line in rows) >= len(rows)


def _aligned_rows(lines: Sequence[Line]) -> Iterator[Line]:
    captions = [index for index, line in enumerate(lines) if _TABLE_CAPTION.match(line.text)]
    end = 0
    for is_split, group in groupby(lines, key=_has_several_cells):
        rows = list(group)
        first, end = end, end + len(rows)
        if not is_split or len(rows) < 2 or _is_listing(rows):
            continue
        num_columns = min(len(_columns_of(row)) for row in rows)
        has_caption = any(first - _CAPTION_REACH <= index <= end + _CAPTION_REACH for index in captions)
        cells = [(cell, below) for above, below in pairwise(rows) for cell in _columns_of(above)]
        num_aligned = sum(_is_aligned(cell, _columns_of(below)) for cell, below in cells)
        needed = (2, 2) if has_caption else (_MIN_ALIGNED_ROWS, _MIN_ALIGNED_COLUMNS)
        if (
            (len(rows), num_columns) >= needed
            and num_columns >= needed[1]
            and (num_aligned >= _MIN_ALIGNED_FRACTION * len(cells))
        ):
            yield from rows


def ruled_lines(page: Page) -> frozenset[Line]:
    """page -> its lines that are parts of tables with rulings."""
    between_rulings = (line for line in page.lines if _is_between_rulings(line, page.drawing))
    return frozenset(between_rulings).union(_between_rules(page.lines, page.drawing))


def aligned_lines(page: Page) -> frozenset[Line]:
    """page -> its lines that are parts of tables without rulings; its columns of prose must be in order."""
    return frozenset(_aligned_rows(page.lines))


def _is_running_text(line: Line, page_lines: Sequence[Line]) -> bool:
    """Whether a line reaches over most of the width that text takes on its page, in many words."""
    width = max(other.right for other in page_lines) - min(other.left for other in page_lines)
    return line.right - line.left > _PROSE_WIDTH_FRACTION * width and len(line.text.split()) > _MAX_LABEL_WORDS


def _figure_box(caption: Line, page: Page) -> Box | None:
    """Return the extent of what is drawn above a caption, up to the next running text, or None."""
    bottom = caption.baseline
    above = [line.baseline for line in page.lines if line.baseline > bottom and _is_running_text(line, page.lines)]
    ceiling = min(above, default=page.height)
    drawn = list(page.drawing.boxes)
    drawn += [Box(stroke.at, stroke.low, stroke.at, stroke.high) for stroke in page.drawing.upright]
    drawn += [Box(stroke.low, stroke.at, stroke.high, stroke.at) for stroke in page.drawing.level]
    boxes: list[Box] = []
    top = bottom + caption.size
    for box in sorted(drawn, key=lambda box: box.bottom):
        if box.bottom > bottom and box.top < ceiling and box.bottom <= top + _FIGURE_GAP_PT:
            boxes.append(box)
            top = max(top, box.top)
    if len(boxes) < _MIN_DRAWN or top - min(box.bottom for box in boxes) < _MIN_FIGURE_PT:
        return None
    lowest = min(box.bottom for box in boxes)
    return Box(min(box.left for box in boxes), lowest, max(box.right for box in boxes), top)


def figure_labels(page: Page) -> frozenset[Line]:
    """page -> its lines that are written into a drawing above a caption "Figure"."""
    labels: set[Line] = set()
    for caption in page.lines:
        box = _figure_box(caption, page) if _FIGURE_CAPTION.match(caption.text) else None
        if box is None:
            continue
        inside = [
            line
            for line in page.lines
            if box.bottom - _LABEL_REACH_PT < line.center < box.top
            and box.left - _LABEL_REACH_PT <= line.middle <= box.right + _LABEL_REACH_PT
            and not (line.is_table_row or _FIGURE_CAPTION.match(line.text))
        ]
        if sum(len(line.text.split()) for line in inside) <= _MAX_LABEL_WORDS * len(inside):
            labels.update(inside)
    return frozenset(labels)


def _row_edges(lines: Sequence[Line], drawing: Drawing) -> list[float]:
    """Return the heights of the level rules across a table in which every cell is framed, else nothing."""
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    top, bottom = max(line.center for line in lines), min(line.center for line in lines)
    if not any(ruling.low < top and ruling.high > bottom and left < ruling.at < right for ruling in drawing.upright):
        return []
    return sorted({rule.at for rule in drawing.level if rule.low < right and rule.high > left}, reverse=True)


def _row_text(lines: Sequence[Line], drawing: Drawing) -> str:
    """Join the cells of a row: those of one column with blanks, columns with tabs."""
    y = sum(line.center for line in lines) / len(lines)
    edges = sorted(ruling.at for ruling in drawing.upright if ruling.low - 2 <= y <= ruling.high + 2)
    cells = [cell for line in lines for cell in line.cells]
    columns: list[tuple[float, list[str]]] = []
    for cell in cells:
        place = float(sum(edge < (cell.left + cell.right) / 2 for edge in edges)) if len(edges) > 2 else cell.left
        for at, texts in columns:
            if abs(at - place) < (0.5 if len(edges) > 2 else _MIN_COLUMN_PT):
                texts.append(cell.text)
                break
        else:
            columns.append((place, [cell.text]))
    return "\t".join(" ".join(texts) for _, texts in sorted(columns, key=lambda column: column[0]))


def with_table_rows(page: Page, tabular: frozenset[Line]) -> Page:
    """Replace the lines of each table by its rows, one line a row, with tabs between the columns."""
    lines: list[Line] = []
    for is_table, group in groupby(page.lines, key=lambda line: line in tabular):
        members = list(group)
        if not is_table:
            lines += members
            continue
        edges = _row_edges(members, page.drawing)
        rows: dict[float, list[Line]] = {}
        for line in members:
            place = float(sum(edge > line.center for edge in edges)) if len(edges) > 2 else -round(line.baseline)
            rows.setdefault(place, []).append(line)
        for _, row in sorted(rows.items()):
            text = _row_text(row, page.drawing)
            cells = (Cell(text, min(line.left for line in row), max(line.right for line in row)),)
            lines.append(replace(row[0], text=text, cells=cells, is_table_row=True))
    return page.with_lines(lines)
