"""The answer of each section in one or two sentences, read off its table, so that words and numbers cannot part."""

from teleembed_ray.report.cells import Estimate, Table, Value, number_text
from teleembed_ray.report.score_tables import MACRO
from teleembed_ray.report.source import STAGES, Source


def _column(table: Table, key: str) -> list[Value]:
    index = [column.key for column in table.columns].index(key)
    return [row[index] for row in table.rows]


def _count(table: Table, key: str) -> int:
    """Sum of the known values of a count column."""
    return sum(value for value in _column(table, key) if isinstance(value, int))


def _records(table: Table) -> list[dict[str, Value]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def _percent(part: int, whole: int) -> str:
    return number_text(part / whole, "share")


def _range(values: list[float]) -> str:
    """Return `+0.010` or `+0.010 to +0.020`."""
    texts = [number_text(value, "difference") for value in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else f"between {texts[0]} and {texts[1]}"


def lacks(source: Source, questions: Table) -> list[str]:
    """Return what is missing from the lake or fell short, and which stage makes it."""
    found = [
        f"The lake holds no {table}: run with --from {stage}."
        for table, stage in STAGES.items()
        if not source.partitions[table]
    ]
    short = [row for row in _records(questions) if "short" in str(row["status"])]
    return found + [
        f"{row['corpus']} at {row['chunk_size']} tokens: {row['pairs']:,} of {row['quota']:,} pairs, {row['status']}."
        for row in short
    ]


def data_sentence(source: Source, corpora: Table, questions: Table) -> str:
    """Return how many documents became how many pairs."""
    num_chunks = sum(_count(corpora, f"chunks_{size}") for size in source.sizes)
    num_documents, tried, kept = _count(corpora, "documents"), _count(questions, "tried"), _count(questions, "pairs")
    start = f"{num_documents:,} documents of {len(source.corpora)} corpora gave {num_chunks:,} chunks."
    if not tried:
        return f"{start} No question has been tried yet."
    return f"{start} {tried:,} questions were tried and {kept:,} kept ({_percent(kept, tried)})."


def interference_sentence(table: Table) -> str:
    """Return the largest macro drop, and where wrong first results came from."""
    rows = _records(table)
    changes = [(row, row["change"]) for row in rows if row["corpus"] == MACRO and isinstance(row["change"], Estimate)]
    if not changes:
        return ""
    row, worst = min(
        ((row, change) for row, change in changes if isinstance(change, Estimate)), key=lambda pair: pair[1].value
    )
    if worst.value >= 0:
        first = "Searching all corpora at once costs no accuracy: no model's macro mean falls."
    else:
        bounds = [number_text(bound, "difference") for bound in (worst.low, worst.high) if bound is not None]
        first = (
            f"Searching all corpora at once costs {row['model']} the most: {number_text(worst.value, 'difference')} "
            f"({' to '.join(bounds)}) at {row['chunk_size']} tokens."
        )
    cells = [row for row in rows if row["corpus"] != MACRO]
    wrong = sum(int(row["wrong"]) for row in cells if isinstance(row["wrong"], int))
    other = sum(int(row["from_other_corpus"]) for row in cells if isinstance(row["from_other_corpus"], int))
    own = sum(int(row["from_own_document"]) for row in cells if isinstance(row["from_own_document"], int))
    if not wrong:
        return first
    return (
        f"{first} Of {wrong:,} wrong first results, {_percent(own, wrong)} are another chunk of the right document "
        f"and {_percent(other, wrong)} come from another corpus."
    )


def clean_sentence(counts: Table, table: Table) -> str:
    """Return how many questions are not clean and what leaving them out changes."""
    total, unclean = _count(counts, "questions"), _count(counts, "not_clean")
    if not total:
        return ""
    first = f"{unclean:,} of {total:,} questions ({_percent(unclean, total)}) are not clean."
    gains = [row["gain"] for row in _records(table) if str(row["view"]).startswith("B:")]
    known = [gain for gain in gains if isinstance(gain, float)]
    return f"{first} Leaving them out changes macro accuracy by {_range(known)}." if known else first


def truncation_sentence(table: Table) -> str:
    """Return who reads everything and who is cut the most."""
    rows = [(row, row["chunks_truncated_share"]) for row in _records(table)]
    known = [(row, share) for row, share in rows if isinstance(share, float)]
    if not known:
        return ""
    row, most = max(known, key=lambda pair: pair[1])
    if most == 0:
        return "Every model read every chunk to its end."
    return (
        f"{row['model']} is cut the most: {number_text(most, 'share')} of the chunks of {row['chunk_size']} tokens are "
        "longer than it reads, and it ranks them by their beginning alone."
    )
