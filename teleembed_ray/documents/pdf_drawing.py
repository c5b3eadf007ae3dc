"""A page of PDFium -> what is drawn on it: upright and level strokes, and the boxes of all paths, in upright axes."""

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium_c

from teleembed_ray.documents.pdf_layout import Frame

# Lengths in points. What is almost as long as the page is its frame.
_MIN_STROKE_PT = 6.0
_MAX_STROKE_FRACTION = 0.92
STROKE_WIDTH_PT = 2.0
# A path of more segments than a large grid has is a drawing.
_MAX_SEGMENTS = 1000
_MAX_FORM_DEPTH = 8

Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight stroke: `at` is the x of an upright one or the y of a level one, `low` and `high` are its ends."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """The strokes of a page, the boxes of its paths that are more than one stroke, and whether it shows an image."""

    upright: tuple[Stroke, ...] = ()
    level: tuple[Stroke, ...] = ()
    boxes: tuple[Box, ...] = ()
    has_image: bool = False


def _product(first: Matrix, second: Matrix) -> Matrix:
    """The matrix that applies `first`, then `second`."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _matrix_of(page_object: Any) -> Matrix:
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(page_object, matrix):
        return _IDENTITY
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _applied(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


class _Reader:
    """Collects what is drawn; a form XObject is walked with its matrix."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.upright: list[Stroke] = []
        self.level: list[Stroke] = []
        self.boxes: list[Box] = []
        self.has_image = False
        self._bounds = tuple(ctypes.c_float() for _ in range(4))

    def walk(self, count: Any, get: Any, container: Any, matrix: Matrix, depth: int) -> None:
        for index in range(count(container)):
            page_object = get(container, index)
            kind = pdfium_c.FPDFPageObj_GetType(page_object)
            if kind == pdfium_c.FPDF_PAGEOBJ_PATH:
                self._read_path(page_object, matrix)
            elif kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
                self.has_image = True
            elif kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < _MAX_FORM_DEPTH:
                inner = _product(_matrix_of(page_object), matrix)
                forms = pdfium_c.FPDFFormObj_CountObjects, pdfium_c.FPDFFormObj_GetObject
                self.walk(*forms, page_object, inner, depth + 1)

    def _read_path(self, path: Any, matrix: Matrix) -> None:
        box = self._box_of(path, matrix)
        width, height = box.right - box.left, box.top - box.bottom
        if height >= self.frame.height * _MAX_STROKE_FRACTION and width >= self.frame.width * _MAX_STROKE_FRACTION:
            return
        if min(width, height) <= STROKE_WIDTH_PT:
            self._add((box.left, box.bottom), (box.right, box.top))
            return
        if max(width, height) >= _MIN_STROKE_PT:
            self.boxes.append(box)
            self._read_segments(path, matrix)

    def _box_of(self, path: Any, matrix: Matrix) -> Box:
        left, bottom, right, top = self._bounds
        pdfium_c.FPDFPageObj_GetBounds(path, left, bottom, right, top)
        corners = [(x.value, y.value) for x in (left, right) for y in (bottom, top)]
        if matrix is not _IDENTITY:
            corners = [_applied(matrix, *corner) for corner in corners]
        xs, ys = zip(*(self.frame.upright(*corner) for corner in corners), strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))

    def _read_segments(self, path: Any, matrix: Matrix) -> None:
        """Add the straight edges of a stroked path."""
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium_c.FPDFPath_GetDrawMode(path, fill, stroke)
        num_segments = pdfium_c.FPDFPath_CountSegments(path)
        if not stroke.value or num_segments > _MAX_SEGMENTS:
            return
        whole = _product(_matrix_of(path), matrix)
        x, y = ctypes.c_float(), ctypes.c_float()
        before = (0.0, 0.0)
        for index in range(num_segments):
            segment = pdfium_c.FPDFPath_GetPathSegment(path, index)
            pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
            point = self.frame.upright(*_applied(whole, x.value, y.value))
            kind = pdfium_c.FPDFPathSegment_GetType(segment)
            # PDFium has turned the closing of a path into a line.
            if kind == pdfium_c.FPDF_SEGMENT_LINETO:
                self._add(before, point)
            before = point

    def _add(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        width, height = abs(begin[0] - end[0]), abs(begin[1] - end[1])
        if width <= STROKE_WIDTH_PT and _MIN_STROKE_PT <= height <= _MAX_STROKE_FRACTION * self.frame.height:
            x = (begin[0] + end[0]) / 2
            self.upright.append(Stroke(x, min(begin[1], end[1]), max(begin[1], end[1])))
        elif height <= STROKE_WIDTH_PT and width >= _MIN_STROKE_PT:
            y = (begin[1] + end[1]) / 2
            self.level.append(Stroke(y, min(begin[0], end[0]), max(begin[0], end[0])))


def _merged(strokes: Iterable[Stroke]) -> Iterator[Stroke]:
    """Yield the strokes with those of neighbouring cells joined to one."""
    before: Stroke | None = None
    for stroke in sorted(strokes, key=lambda stroke: (round(stroke.at / STROKE_WIDTH_PT), stroke.low)):
        if before is None:
            before = stroke
        elif abs(before.at - stroke.at) <= STROKE_WIDTH_PT and stroke.low <= before.high + STROKE_WIDTH_PT:
            before = replace(before, high=max(before.high, stroke.high))
        else:
            yield before
            before = stroke
    if before is not None:
        yield before


def read_drawing(page: Any, frame: Frame) -> Drawing:
    """Return what is drawn on a page, but not what is as large as the page: its frame, or its background."""
    reader = _Reader(frame)
    reader.walk(pdfium_c.FPDFPage_CountObjects, pdfium_c.FPDFPage_GetObject, page.raw, _IDENTITY, 0)
    return Drawing(tuple(_merged(reader.upright)), tuple(_merged(reader.level)), tuple(reader.boxes), reader.has_image)
