"""Which scores stand in which chart: small multiples by chunk size, models grouped by what they searched."""

from collections.abc import Sequence

from teleembed_ray.report.cells import Estimate, Kind, Missing, Table, number_text
from teleembed_ray.report.figures import Group, Mark, Panel, panel_svg, shared_axis
from teleembed_ray.report.score_tables import MACRO, ScoreKey, Scores, view_label
from teleembed_ray.report.source import Source


def _group_views(source: Source) -> list[tuple[str, str]]:
    return [(MACRO, "B"), *((corpus, "A") for corpus in source.corpora)]


def _description(groups: Sequence[Group], kind: Kind) -> str:
    """Return a chart's numbers as words, for those who do not see it."""
    words = []
    for group in groups:
        known = [(mark.label, mark.score) for mark in group.marks if isinstance(mark.score, Estimate)]
        marks = [f"{label} {number_text(score.value, kind)}" for label, score in known]
        words.append(f"{group.heading}: {', '.join(marks) or 'no values'}.")
    return " ".join(words)


def _heading(text: str, marks: tuple[Mark, ...]) -> str:
    """Return a group's heading with n, where its models share one."""
    counts = {mark.score.n for mark in marks if isinstance(mark.score, Estimate)}
    return f"{text}, n = {counts.pop():,}" if len(counts) == 1 else text


def accuracy_panels(source: Source, scores: Scores) -> list[Panel]:
    """One panel a chunk size: accuracy of every model, the macro mean first, then each corpus by itself."""
    panels = []
    for size in source.sizes:
        groups = []
        for corpus, strategy in _group_views(source):
            marks = tuple(
                Mark(model, series, scores.get(ScoreKey(model, corpus, size, strategy)))
                for series, model in enumerate(scores.models)
            )
            groups.append(
                Group(_heading("Macro mean (B)" if corpus == MACRO else view_label(corpus, strategy), marks), marks)
            )
        panels.append(Panel(f"Accuracy, chunks of {size} tokens", _description(groups, "score"), tuple(groups)))
    return panels


def interference_panels(table: Table, models: Sequence[str]) -> list[Panel]:
    """One panel a chunk size: the change from A to C of every model, the macro mean first, then each corpus."""
    places = {column.key: index for index, column in enumerate(table.columns)}
    changes: dict[str, dict[str, dict[str, Estimate | Missing]]] = {}
    for row in table.rows:
        size, model, corpus, change = (row[places[key]] for key in ("chunk_size", "model", "corpus", "change"))
        if isinstance(change, Estimate | Missing):
            changes.setdefault(str(size), {}).setdefault(str(corpus), {})[str(model)] = change
    panels = []
    for size, by_corpus in changes.items():
        groups = []
        for corpus in sorted(by_corpus, key=lambda corpus: (corpus != MACRO, corpus)):
            found = by_corpus[corpus]
            marks = tuple(Mark(model, series, found[model]) for series, model in enumerate(models) if model in found)
            groups.append(Group(_heading("Macro mean" if corpus == MACRO else corpus, marks), marks))
        panels.append(
            Panel(
                f"C minus A, chunks of {size} tokens", _description(groups, "difference"), tuple(groups), "difference"
            )
        )
    return panels


def _has_values(panel: Panel) -> bool:
    return any(isinstance(mark.score, Estimate) for group in panel.groups for mark in group.marks)


def draw(panels: list[Panel], name: str) -> list[tuple[str, str]]:
    """Return (title, SVG) of each panel that has a value, all on one axis."""
    shown = [panel for panel in panels if _has_values(panel)]
    axis = shared_axis(shown)
    return [(panel.title, panel_svg(panel, axis, f"{name}-{index}")) for index, panel in enumerate(shown)]
