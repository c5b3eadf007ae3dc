"""Histograms of chunk lengths as SVG text, in the style of the other figures: readable without colour."""

from html import escape
from typing import Any

from teleembed_ray.audit.audits import BINS_PER_SIZE, NUM_BINS

WIDTH = 344
LEFT, RIGHT, TOP, BOTTOM = 4, WIDTH - 4, 22, 132
HEIGHT = 172
TICKS = (0.0, 0.5, 1.0, 1.5, 2.0)
# What is there is seen: a bar of one chunk among thousands.
MIN_BAR = 1.5
GAP = 1.5

Audit = dict[str, Any]


def _x(size_fraction: float) -> float:
    """Where a length stands that is this multiple of the target size."""
    return LEFT + (RIGHT - LEFT) * size_fraction * BINS_PER_SIZE / NUM_BINS


def _text(x: float, y: float, text: str, css: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>'


def _tallest(audit: Audit) -> int:
    return int(max(kept + lost for kept, lost in zip(audit["kept_bins"], audit["discarded_bins"], strict=True)))


def _bars(audit: Audit) -> str:
    """One bar a bin: kept chunks filled, discarded ones hollow on top of them."""
    scale = (BOTTOM - TOP) / max(1, _tallest(audit))
    pieces = []
    for place, (kept, lost) in enumerate(zip(audit["kept_bins"], audit["discarded_bins"], strict=True)):
        left, right = _x(place / BINS_PER_SIZE) + GAP, _x((place + 1) / BINS_PER_SIZE) - GAP
        y = float(BOTTOM)
        for count, css in ((kept, "kept"), (lost, "discarded")):
            if count:
                height = max(MIN_BAR, count * scale)
                y -= height
                pieces.append(
                    f'<rect x="{left:.1f}" y="{y:.1f}" width="{right - left:.1f}" height="{height:.1f}" '
                    f'class="{css} s0"/>'
                )
    return "".join(pieces)


def _window(audit: Audit) -> str:
    """The window as a band between two lines; a wide one ends where the figure does."""
    size = audit["chunk_size"]
    low, high = _x(audit["window_low"] / size), min(float(RIGHT), _x(audit["window_high"] / size))
    label = f"window: {audit['window_low']:,} to {audit['window_high']:,} tokens"
    return (
        f'<rect x="{low:.1f}" y="{TOP}" width="{high - low:.1f}" height="{BOTTOM - TOP}" class="window"/>'
        f'<path d="M{low:.1f} {TOP - 4}V{BOTTOM}M{high:.1f} {TOP - 4}V{BOTTOM}" class="edge"/>'
        + _text(max((low + high) / 2, 80.0), TOP - 8, label, "tick", "middle")
    )


def _axis(size: int, tallest: int) -> str:
    pieces = [f'<path d="M{LEFT} {BOTTOM}H{RIGHT}" class="zero"/>']
    for tick in TICKS:
        anchor = "start" if tick == 0 else "middle"
        pieces.append(f'<path d="M{_x(tick):.1f} {BOTTOM}v4" class="zero"/>')
        pieces.append(_text(_x(tick), BOTTOM + 17, f"{tick * size:,.0f}", "tick", anchor))
    pieces.append(_text(LEFT, BOTTOM + 34, f"tallest bar: {tallest:,} chunks", "tick", "start"))
    pieces.append(_text(RIGHT, BOTTOM + 34, "tokens; last bar: all longer ones", "tick", "end"))
    return "".join(pieces)


def _description(audit: Audit) -> str:
    """The histogram's numbers as words, for those who do not see it."""
    size = audit["chunk_size"]
    words = [
        f"{place * size / BINS_PER_SIZE:g} tokens and more: {kept:,} kept, {lost:,} discarded."
        for place, (kept, lost) in enumerate(zip(audit["kept_bins"], audit["discarded_bins"], strict=True))
        if kept or lost
    ]
    return " ".join(words)


def histogram_svg(audit: Audit, title: str, name: str) -> str:
    """Return the histogram of one corpus and size; `name` makes its ids unique on the page."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(_description(audit))}</desc>'
        f"{_window(audit)}{_bars(audit)}{_axis(audit['chunk_size'], _tallest(audit))}</svg>"
    )


def draw_histograms(audits: list[Audit]) -> list[tuple[str, str]]:
    """Return (title, SVG) of each corpus and size that has a chunk, kept or discarded."""
    drawn = []
    for index, audit in enumerate(audits):
        num_made = sum(audit["kept_bins"]) + sum(audit["discarded_bins"])
        if num_made:
            title = f"{audit['corpus']}, {audit['chunk_size']} tokens: {num_made:,} chunks made"
            drawn.append((title, histogram_svg(audit, title, f"lengths-{index}")))
    return drawn
