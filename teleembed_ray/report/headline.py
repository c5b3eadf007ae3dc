"""The answer first: which model leads at each chunk size, by how much, and which others cannot be told apart."""

from dataclasses import dataclass

from teleembed_ray.report.cells import Column, Estimate, Missing, Table, Value
from teleembed_ray.report.ranking_tables import Hits, macro_difference
from teleembed_ray.report.score_tables import MACRO, ScoreKey, Scores
from teleembed_ray.report.source import Source, absent

APART, NOT_APART = "behind the best", "cannot be told apart from the best"


@dataclass(frozen=True)
class Rival:
    """A model that did not score highest: its score, the paired difference to the best, and what that allows to say."""

    model: str
    score: Estimate
    difference: Estimate | Missing
    verdict: str


@dataclass(frozen=True)
class Headline:
    """The best model at one chunk size by macro accuracy (strategy B) with its rivals, or why there is none."""

    chunk_size: int
    model: str
    score: Estimate | Missing
    rivals: tuple[Rival, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def ties(self) -> tuple[str, ...]:
        """Models that cannot be told apart from the best."""
        return tuple(rival.model for rival in self.rivals if rival.verdict == NOT_APART)


def overlap(first: Estimate, second: Estimate) -> bool:
    """Whether two intervals share a value; estimates without an interval are compared by value."""
    low = max(bound if bound is not None else score.value for score in (first, second) for bound in [score.low])
    high = min(bound if bound is not None else score.value for score in (first, second) for bound in [score.high])
    return low <= high


def _verdict(best: Estimate, score: Estimate, difference: Estimate | Missing) -> str:
    """The paired difference decides; without rankings, whether the two intervals overlap."""
    if isinstance(difference, Estimate) and difference.low is not None:
        return APART if difference.low > 0 else NOT_APART
    return NOT_APART if overlap(best, score) else APART


def headline(source: Source, scores: Scores, alone: Hits, size: int) -> Headline:
    """Return the best model at one chunk size, with every other model set against it."""
    found = {model: scores.get(ScoreKey(model, MACRO, size, "B")) for model in scores.models}
    known = {model: score for model, score in found.items() if isinstance(score, Estimate)}
    gaps = tuple(f"{model}: {score.reason}" for model, score in found.items() if isinstance(score, Missing))
    if not known:
        return Headline(size, "", Missing(gaps[0].split(": ", 1)[1] if gaps else absent("scores")), gaps=gaps)
    # Of equal scores the better model over all sizes comes first, as the models stand; sums differ in the last bits.
    order = sorted(known, key=lambda model: -round(known[model].value, 9))
    best = order[0]
    rivals = []
    for model in order[1:]:
        difference = macro_difference(source, alone, alone, size, (best, model))
        rivals.append(Rival(model, known[model], difference, _verdict(known[best], known[model], difference)))
    return Headline(size, best, known[best], tuple(rivals), gaps)


def headline_table(headlines: list[Headline]) -> Table:
    """One row a chunk size and model, best first, with the paired difference to the best."""
    rows: list[tuple[Value, ...]] = []
    for head in headlines:
        if isinstance(head.score, Missing):
            continue
        rows.append((str(head.chunk_size), head.model, head.score, Missing("the best itself"), "best"))
        rows.extend(
            (str(head.chunk_size), rival.model, rival.score, rival.difference, rival.verdict) for rival in head.rivals
        )
    return Table(
        "headline",
        "Macro accuracy (strategy B): the share of questions whose own chunk came first, averaged over the corpora. "
        "The lead of the best model is measured on the same questions.",
        (
            Column("chunk_size", "Chunk size"),
            Column("model", "Model"),
            Column("accuracy", "Accuracy", "score", is_estimate=True),
            Column("lead", "Lead of the best", "difference", is_estimate=True),
            Column("verdict", "What can be said"),
        ),
        tuple(rows),
        num_headings=2,
        if_empty=f"There are {absent('scores')}.",
    )


def listed(words: list[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _ties_text(scored: list[Headline]) -> str:
    """Return the models that tie with the best, those that tie at the same sizes together."""
    sizes_of: dict[tuple[str, ...], list[str]] = {}
    for head in scored:
        if head.ties:
            sizes_of.setdefault(head.ties, []).append(str(head.chunk_size))
    if len(scored) == 1 or list(map(len, sizes_of.values())) == [len(scored)]:
        return listed(list(next(iter(sizes_of)))) + (" at any of them" if len(scored) > 1 else "")
    return listed([f"{listed(list(ties))} at {listed(sizes)} tokens" for ties, sizes in sizes_of.items()])


def verdict_sentence(headlines: list[Headline]) -> str:
    """Return the one sentence that a reader takes away."""
    scored = [head for head in headlines if head.model]
    if not scored:
        return "No model can be recommended yet: nothing has been scored."
    leaders = list(dict.fromkeys(head.model for head in scored))
    tied = [head for head in scored if head.ties]
    if not any(head.rivals for head in scored):
        return f"Only {listed(leaders)} was scored, so there is nothing to compare with."
    if len(leaders) > 1:
        wins = [f"{head.model} at {head.chunk_size}" for head in scored]
        doubt = " Not every lead is beyond doubt: see below." if tied else ""
        return f"No single model leads: the highest score has {listed(wins)} tokens.{doubt}"
    where = "at every chunk size" if len(scored) > 1 else f"at {scored[0].chunk_size} tokens"
    if not tied:
        return f"{leaders[0]} finds the right chunk most often {where}, clearly ahead of every other model."
    return f"{leaders[0]} has the highest score {where}, but cannot be told apart from {_ties_text(scored)}."
