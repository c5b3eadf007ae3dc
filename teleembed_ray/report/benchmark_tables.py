"""What the benchmark is made of: documents, chunks, what was left out, and how questions were accepted."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray.report.cells import Column, Missing, Table, Value, share
from teleembed_ray.report.intervals import share_estimate
from teleembed_ray.report.source import Source, absent, settings
from teleembed_ray.report.texts import excerpt, portable

CRITERIA = {
    "substantive": "the chunk is substantive text",
    "specific": "the question is clear and specific",
    "answerable": "the chunk alone answers it",
    "top_result": "the chunk would be the top result",
}
NUM_REJECT_EXAMPLES = 2


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


def _totals(source: Source, table: str, columns: list[str], **keys: str | int) -> dict[str, int]:
    """Sums of integer columns over all matching rows."""
    totals = dict.fromkeys(columns, 0)
    for _, rows in source.parts(table, columns, **keys):
        for name in columns:
            totals[name] += _sum(rows[name])
    return totals


def corpora_table(source: Source) -> Table:
    """One row a corpus: documents, characters read and left out, chunks of each size."""
    rows: list[tuple[Value, ...]] = []
    for corpus in source.corpora:
        documents: list[Value] = [Missing(absent("documents"))] * 5
        if source.find("documents", corpus=corpus):
            totals = _totals(
                source, "documents", ["num_chars", "num_dropped_chars", "num_unmapped_chars"], corpus=corpus
            )
            kept, dropped = totals["num_chars"], totals["num_dropped_chars"]
            documents = [
                source.num_rows("documents", corpus=corpus),
                kept,
                dropped,
                share(dropped, kept + dropped, "no characters"),
                totals["num_unmapped_chars"],
            ]
        chunks: list[Value] = [
            source.num_rows("chunks", corpus=corpus, chunk_size=size)
            if source.find("chunks", corpus=corpus, chunk_size=size)
            else Missing(absent("chunks"))
            for size in source.sizes
        ]
        rows.append((corpus, *documents, *chunks))
    return Table(
        "corpora",
        "Documents and chunks of each corpus. Characters left out are tables, figures and other parts that were not "
        "taken for text; unmapped ones stand in the text, and no font or encoding gave them a meaning.",
        (
            Column("corpus", "Corpus"),
            Column("documents", "Documents", "count"),
            Column("chars", "Characters kept", "count"),
            Column("dropped_chars", "Characters left out", "count"),
            Column("dropped_share", "Share left out", "share"),
            Column("unmapped_chars", "Unmapped characters", "count"),
            *(Column(f"chunks_{size}", f"Chunks of {size}", "count") for size in source.sizes),
        ),
        tuple(rows),
        if_empty="The lake names no corpus: run with --from ingest.",
    )


@dataclass
class _Rejects:
    num_rows: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)


def _rejects(source: Source) -> dict[tuple[str, str, str], _Rejects]:
    """Count rejects by (stage, corpus, reason) and keep the first few by id."""
    found: dict[tuple[str, str, str], _Rejects] = {}
    for partition, rows in source.parts("rejects", ["id", "stage", "corpus", "reason", "detail"]):
        for row in rows.to_pylist():
            stage = row["stage"] or partition.keys.get("stage", "")
            key = (stage, row["corpus"] or partition.keys.get("corpus", ""), row["reason"] or "no reason given")
            group = found.setdefault(key, _Rejects())
            group.num_rows += 1
            group.examples = sorted([*group.examples, (row["id"] or "", row["detail"] or "")])[:NUM_REJECT_EXAMPLES]
    return found


def _example_text(examples: list[tuple[str, str]]) -> str:
    return "; ".join(excerpt(portable(detail) or identifier, 160) for identifier, detail in examples)


def rejects_table(source: Source) -> Table:
    """One row a stage, corpus and reason: how many rows were rejected, with examples."""
    found = _rejects(source)
    rows = tuple(
        (stage, corpus or Missing("not of one corpus"), reason, group.num_rows, _example_text(group.examples))
        for (stage, corpus, reason), group in sorted(found.items())
    )
    return Table(
        "rejects",
        "Rows that a stage could not use. They stand in the rejects table of the lake, each with its detail.",
        (
            Column("stage", "Stage"),
            Column("corpus", "Corpus"),
            Column("reason", "Reason"),
            Column("rows", "Rows", "count"),
            Column("examples", "For example"),
        ),
        rows,
        num_headings=3,
        if_empty="No row was rejected by any stage.",
    )


def _quota(source: Source, corpus: str, size: int) -> tuple[Value, Value, str]:
    """Return pairs kept, the quota, and whether it was reached or why not."""
    found = source.find("pairs", corpus=corpus, chunk_size=size)
    if not found:
        return Missing(absent("pairs")), Missing(absent("pairs")), "not run yet"
    manifest = found[0].manifest
    kept, quota = found[0].num_rows, manifest.get("per_cell", settings(found[0]).get("per_cell"))
    if quota is None:
        return kept, Missing("the manifest names no quota"), "no quota known"
    if kept >= quota:
        return kept, int(quota), "quota reached"
    if manifest.get("exhausted"):
        pool = manifest.get("pool_chunks", source.num_rows("chunks", corpus=corpus, chunk_size=size))
        return kept, int(quota), f"{quota - kept:,} short: every chunk of the cell was tried ({pool:,} in all)"
    return kept, int(quota), f"{quota - kept:,} short: the manifest does not say why"


def questions_table(source: Source) -> Table:
    """One row a corpus and size: questions tried, accepted and kept, and whether the quota was reached."""
    rows: list[tuple[Value, ...]] = []
    columns = ["accepted", "num_prompt_tokens", "num_output_tokens"]
    for corpus in source.corpora:
        for size in source.sizes:
            tried: list[Value] = [Missing(absent("candidates"))] * 4
            if source.find("candidates", corpus=corpus, chunk_size=size):
                n = source.num_rows("candidates", corpus=corpus, chunk_size=size)
                totals = _totals(source, "candidates", columns, corpus=corpus, chunk_size=size)
                rate = share_estimate(totals["accepted"], n, source.confidence)
                tried = [n, rate, totals["num_prompt_tokens"], totals["num_output_tokens"]]
            kept, quota, status = _quota(source, corpus, size)
            rows.append((corpus, str(size), tried[0], tried[1], kept, quota, status, tried[2], tried[3]))
    return Table(
        "questions",
        "Questions that were written, the share that the validator accepted, and the pairs kept for the benchmark.",
        (
            Column("corpus", "Corpus"),
            Column("chunk_size", "Chunk size"),
            Column("tried", "Tried", "count"),
            Column("accepted", "Accepted", "share", is_estimate=True),
            Column("pairs", "Pairs kept", "count"),
            Column("quota", "Quota", "count"),
            Column("status", "Quota status"),
            Column("prompt_tokens", "Prompt tokens", "count"),
            Column("output_tokens", "Output tokens", "count"),
        ),
        tuple(rows),
        num_headings=2,
        if_empty="No question has been tried: run with --from pairs.",
    )


def verdicts_table(source: Source) -> Table:
    """One row a verdict: how many tried questions received it, by corpus and in all."""
    counts: Counter[tuple[str, str]] = Counter()
    for partition, rows in source.parts("candidates", ["verdict"]):
        for entry in pc.value_counts(rows["verdict"]).to_pylist():
            counts[entry["values"] or "no verdict", partition.keys["corpus"]] += entry["counts"]
    total = counts.total()
    by_verdict = Counter[str]()
    for (verdict, _), count in counts.items():
        by_verdict[verdict] += count
    order = sorted(by_verdict, key=lambda verdict: (-by_verdict[verdict], verdict))
    rows = tuple(
        (
            verdict.replace("_", " "),
            by_verdict[verdict],
            share(by_verdict[verdict], total, "nothing tried"),
            *(counts[verdict, corpus] for corpus in source.corpora),
        )
        for verdict in order
    )
    return Table(
        "verdicts",
        "What became of every question that was tried.",
        (
            Column("verdict", "Verdict"),
            Column("questions", "Questions", "count"),
            Column("share", "Share", "share"),
            *(Column(corpus, corpus, "count") for corpus in source.corpora),
        ),
        rows,
        if_empty="No question has been tried: run with --from pairs.",
    )


def criteria_table(source: Source) -> Table:
    """One row a criterion: how many questions were judged by it and how many met it."""
    judged, met = Counter[str](), Counter[str]()
    for _, rows in source.parts("candidates", list(CRITERIA)):
        for name in CRITERIA:
            judged[name] += rows.num_rows - rows[name].null_count
            met[name] += _sum(rows[name])
    rows = tuple(
        (
            name.replace("_", " "),
            meaning,
            judged[name],
            met[name],
            share_estimate(met[name], judged[name], source.confidence),
        )
        for name, meaning in CRITERIA.items()
        if judged[name]
    )
    return Table(
        "criteria",
        "The validator's four criteria. A question that misses one of them is refused.",
        (
            Column("criterion", "Criterion"),
            Column("meaning", "What it asks"),
            Column("judged", "Judged", "count"),
            Column("met", "Met", "count"),
            Column("met_share", "Share met", "share", is_estimate=True),
        ),
        rows,
        if_empty="No question has been judged by the four criteria: run with --from pairs.",
    )
