"""Dot-and-whisker charts as SVG text.

Readable without colour: each series has its own marker shape, and each mark its name to the left and its value to the
right. Colours come from the page's style sheet (classes `s0`, `s1`, ...), so a chart follows light, dark and print.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from teleembed_ray.report.cells import MINUS, Estimate, Kind, Missing, number_text

# Pixels of the drawing, which is as wide as a phone's column.
WIDTH = 344
LABEL_WIDTH, VALUE_WIDTH = 100, 50
LEFT, RIGHT = LABEL_WIDTH + 8, WIDTH - VALUE_WIDTH - 8
ROW, GROUP, TOP, BELOW = 22, 28, 6, 24
RADIUS = 4.6
CHARS_OF_LABEL = 15
NUM_COLORS = 6
# Distances between ticks, the first that needs few enough is taken.
STEPS = (0.02, 0.05, 0.1, 0.2, 0.5)
MAX_STEPS = 5

# Corner points of each marker, in radii; the first shape, without points, is a circle.
SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
    ((0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)),
    ((0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
    ((0.0, -1.25), (1.2, -0.38), (0.75, 1.0), (-0.75, 1.0), (-1.2, -0.38)),
)


@dataclass(frozen=True)
class Mark:
    """One row of a chart: a score with its interval, or why there is none."""

    label: str
    series: int
    score: Estimate | Missing


@dataclass(frozen=True)
class Group:
    """Rows under one heading."""

    heading: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Panel:
    """One small multiple: its title, what a screen reader says of it, its groups, and how its values are written."""

    title: str
    description: str
    groups: tuple[Group, ...]
    kind: Kind = "score"


@dataclass(frozen=True)
class Axis:
    """A horizontal axis with a tick at every step from low to high."""

    low: float
    high: float
    step: float

    def x(self, value: float) -> float:
        """Return where a value stands, in pixels."""
        return LEFT + (RIGHT - LEFT) * (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        """Values of the ticks."""
        num_steps = round((self.high - self.low) / self.step)
        return [self.low + self.step * index for index in range(num_steps + 1)]


def shared_axis(panels: Sequence[Panel]) -> Axis:
    """Return the axis that all panels share: it holds zero and every interval, with five steps at most."""
    marks = [mark for panel in panels for group in panel.groups for mark in group.marks]
    scores = [mark.score for mark in marks if isinstance(mark.score, Estimate)]
    lowest = min([0.0, *(score.value if score.low is None else score.low for score in scores)])
    highest = max([0.0, *(score.value if score.high is None else score.high for score in scores)])
    # The small term keeps a bound that is a step but for rounding from adding another step.
    for step in STEPS:
        low, high = math.floor(lowest / step + 1e-9), math.ceil(highest / step - 1e-9)
        if high - low <= MAX_STEPS:
            break
    return Axis(low * step, max(high, low + 1) * step, step)


def _text(x: float, y: float, text: str, css: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>'


def marker(series: int, x: float, y: float, css: str) -> str:
    """Return the marker of a series: shapes first, then the same shapes hollow."""
    points = SHAPES[series % len(SHAPES)]
    is_hollow = series // len(SHAPES) % 2 == 1
    css = f"{css} s{series % NUM_COLORS}{' hollow' if is_hollow else ''}"
    if not points:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" class="{css}"/>'
    corners = " ".join(f"{x + RADIUS * dx:.1f},{y + RADIUS * dy:.1f}" for dx, dy in points)
    return f'<polygon points="{corners}" class="{css}"/>'


def _whisker(score: Estimate, y: float, series: int, axis: Axis) -> str:
    if score.low is None or score.high is None:
        return ""
    low, high = axis.x(score.low), axis.x(score.high)
    css = f"whisker s{series % NUM_COLORS}"
    ends = "".join(f'<path d="M{x:.1f} {y - 3:.1f}v6" class="{css}"/>' for x in (low, high))
    return f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" class="{css}"/>{ends}'


def _label(text: str) -> str:
    """Return a row's name, cut where the column ends."""
    return text if len(text) <= CHARS_OF_LABEL else f"{text[: CHARS_OF_LABEL - 1]}\N{HORIZONTAL ELLIPSIS}"


def _row(mark: Mark, y: float, axis: Axis, kind: Kind) -> str:
    """Return one row: name, whisker, marker, value; or the name and that there is no value."""
    middle = y + 4
    pieces = [f"<g><title>{escape(mark.label)}</title>", _text(LABEL_WIDTH, middle, _label(mark.label), "label", "end")]
    if isinstance(mark.score, Missing):
        pieces.append(_text(LEFT, middle, "no value", "none"))
    else:
        pieces.append(_whisker(mark.score, y, mark.series, axis))
        pieces.append(marker(mark.series, axis.x(mark.score.value), y, "marker"))
        pieces.append(_text(RIGHT + 10, middle, number_text(mark.score.value, kind), "value"))
    return "".join([*pieces, "</g>"])


def _tick_text(value: float, axis: Axis, kind: Kind) -> str:
    text = f"{abs(value):.{1 if axis.step >= 0.1 else 2}f}"
    if kind != "difference" or float(text) == 0:
        return text
    return ("+" if value > 0 else MINUS) + text


def _grid(axis: Axis, bottom: float, kind: Kind) -> str:
    """Return a vertical line and its value at every tick; zero stands out where values lie on both sides of it."""
    pieces = []
    for tick in axis.ticks:
        css = "zero" if axis.low < 0 and abs(tick) < axis.step / 2 else "grid"
        pieces.append(f'<path d="M{axis.x(tick):.1f} {TOP}V{bottom:.1f}" class="{css}"/>')
        pieces.append(_text(axis.x(tick), bottom + 16, _tick_text(tick, axis, kind), "tick", "middle"))
    return "".join(pieces)


def panel_svg(panel: Panel, axis: Axis, name: str) -> str:
    """Return one panel as SVG; `name` makes its ids unique on the page."""
    y = float(TOP)
    pieces = []
    for group in panel.groups:
        pieces.append(_text(0, y + 16, group.heading, "heading"))
        y += GROUP
        for mark in group.marks:
            pieces.append(_row(mark, y + ROW / 2, axis, panel.kind))
            y += ROW
        y += 6
    head = (
        f'<svg viewBox="0 0 {WIDTH} {y + BELOW:.0f}" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{name}-title">{escape(panel.title)}</title>'
        f'<desc id="{name}-desc">{escape(panel.description)}</desc>'
    )
    return "".join([head, _grid(axis, y, panel.kind), *pieces, "</svg>"])
