"""What the corpora are made of: lengths of chunks, what was discarded, twins, languages and repeated texts."""

from collections import Counter
from typing import Any

from teleembed_ray.audit.audits import BINS_PER_SIZE
from teleembed_ray.report.cells import Column, Missing, Table, Value, known, number_text, share
from teleembed_ray.report.source import Source
from teleembed_ray.schemas import AUDITS

NO_CHUNKS = "no chunks"
KEYS = (Column("corpus", "Corpus"), Column("chunk_size", "Chunk size"))
NO_AUDIT = "The corpora have not been audited: run with --from audit."

Audit = dict[str, Any]


def read_audits(source: Source) -> list[Audit]:
    """Return the audits of the lake by corpus and chunk size; a corpus and size that has none is left out."""
    found = [row for _, rows in source.parts("audits", AUDITS.names) for row in rows.to_pylist()]
    return sorted(found, key=lambda audit: (audit["corpus"], audit["chunk_size"]))


def _keys(audit: Audit) -> tuple[str, str]:
    return audit["corpus"], str(audit["chunk_size"])


def _made(audit: Audit) -> int:
    """Chunks that were cut, kept or not."""
    return int(audit["num_chunks"] + audit["num_too_small"] + audit["num_too_large"])


def chunks_table(audits: list[Audit]) -> Table:
    """One row a corpus and size: how long the chunks are, how many were discarded, and how much is no text."""

    def row(audit: Audit) -> tuple[Value, ...]:
        lengths = [known(audit[f"{name}_tokens"], NO_CHUNKS) for name in ("mean", "median", "p95")]
        documents = audit["num_chunked_documents"] + audit["num_chunkless_documents"]
        return (
            *_keys(audit),
            audit["num_chunks"],
            audit["num_tokens"],
            *lengths,
            share(audit["num_too_small"], _made(audit), NO_CHUNKS),
            share(audit["num_too_large"], _made(audit), NO_CHUNKS),
            share(audit["num_discarded_tokens"], audit["num_tokens"] + audit["num_discarded_tokens"], NO_CHUNKS),
            audit["num_chunkless_documents"],
            share(audit["num_chunkless_documents"], documents, "no documents"),
            share(audit["num_digits"], audit["num_chars"], NO_CHUNKS),
            share(audit["num_symbols"], audit["num_chars"], NO_CHUNKS),
        )

    return Table(
        "chunk-sizes",
        "Lengths of the kept chunks in tokens, the share of chunks that lay outside the window, and how much of the "
        "kept text is digits and symbols. Documents without a chunk are in no index: no question asks for them.",
        (
            *KEYS,
            Column("chunks", "Chunks kept", "count"),
            Column("tokens", "Tokens kept", "count"),
            Column("mean_tokens", "Mean", "count"),
            Column("median_tokens", "Median", "count"),
            Column("p95_tokens", "95th percentile", "count"),
            Column("too_small", "Discarded: too small", "share"),
            Column("too_large", "Discarded: too large", "share"),
            Column("discarded_tokens", "Tokens discarded", "share"),
            Column("chunkless", "Documents without a chunk", "count"),
            Column("chunkless_share", "Share of documents", "share"),
            Column("digits", "Digits", "share"),
            Column("symbols", "Symbols", "share"),
        ),
        tuple(row(audit) for audit in audits),
        num_headings=2,
        if_empty=NO_AUDIT,
    )


def _questions_of_twins(source: Source, corpus: str, size: int) -> tuple[int, dict[str, int]] | None:
    """Return the number of questions, and of those whose chunk has a twin of each kind; None without both tables."""
    keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": size}
    if not (source.find("pairs", **keys) and source.find("twins", **keys)):
        return None
    gold = Counter(
        chunk for _, rows in source.parts("pairs", ["chunk_id"], **keys) for chunk in rows["chunk_id"].to_pylist()
    )
    counts = Counter[str]()
    for _, rows in source.parts("twins", ["chunk_id", "kind"], **keys):
        for chunk, kind in zip(rows["chunk_id"].to_pylist(), rows["kind"].to_pylist(), strict=True):
            counts[kind] += gold[chunk]
    return gold.total(), counts


def twins_table(source: Source, audits: list[Audit]) -> Table:
    """One row a corpus and size: chunks that have a twin, where it stands, and the questions that this touches."""

    def row(audit: Audit) -> tuple[Value, ...]:
        chunks = audit["num_chunks"]
        asked = _questions_of_twins(source, audit["corpus"], audit["chunk_size"])
        questions: list[Value] = [Missing("no pairs in the lake")] * 2
        if asked:
            questions = [share(asked[1][kind], asked[0], "no questions") for kind in ("identical", "near")]
        return (
            *_keys(audit),
            share(audit["identical_chunks"], chunks, NO_CHUNKS),
            share(audit["near_chunks"], chunks, NO_CHUNKS),
            *questions,
            audit["identical_chunks"],
            audit["identical_groups"],
            audit["same_text_chunks"],
            audit["near_chunks"],
            audit["near_groups"],
            audit["near_own_document"],
            audit["near_other_document"],
        )

    return Table(
        "twins",
        "Chunks with a twin in their own corpus. Identical: the same text but for white space; to the letter: white "
        "space too. Near: alike or connected by alike texts, identical ones among them.",
        (
            *KEYS,
            Column("identical_share", "Chunks with an identical twin", "share"),
            Column("near_share", "Chunks with a near twin", "share"),
            Column("questions_identical", "Questions, identical twin", "share"),
            Column("questions_near", "Questions, near twin", "share"),
            Column("identical", "Identical", "count"),
            Column("identical_groups", "Groups", "count"),
            Column("same_text", "To the letter", "count"),
            Column("near", "Near", "count"),
            Column("near_groups", "Near groups", "count"),
            Column("near_own_document", "Near, same document", "count"),
            Column("near_other_document", "Near, other document", "count"),
        ),
        tuple(row(audit) for audit in audits),
        num_headings=2,
        if_empty=NO_AUDIT,
    )


def languages_table(source: Source) -> Table:
    """One row a corpus and language: documents and characters."""
    columns = ["language", "why_undetermined", "num_chars"]
    documents, chars, of_corpus = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[str]()
    for partition, rows in source.parts("languages", columns):
        corpus = partition.keys["corpus"]
        for row in rows.to_pylist():
            why = row["why_undetermined"]
            name = f"{row['language']} ({why})" if why else row["language"]
            documents[corpus, name] += 1
            chars[corpus, name] += row["num_chars"] or 0
            of_corpus[corpus] += row["num_chars"] or 0
    order = sorted(documents, key=lambda key: (key[0], -chars[key], key[1]))
    return Table(
        "languages",
        "Languages of the documents, judged on a sample of their prose. Source code, and documents without enough "
        "prose, are undetermined.",
        (
            Column("corpus", "Corpus"),
            Column("language", "Language"),
            Column("documents", "Documents", "count"),
            Column("chars", "Characters", "count"),
            Column("chars_share", "Share of characters", "share"),
        ),
        tuple(
            (*key, documents[key], chars[key], share(chars[key], of_corpus[key[0]], "no characters")) for key in order
        ),
        num_headings=2,
        if_empty=NO_AUDIT,
    )


def lengths_table(audits: list[Audit]) -> Table:
    """One row a corpus, size and bin that holds a chunk: what the histograms show."""
    rows: list[tuple[Value, ...]] = []
    for audit in audits:
        for place, (kept, discarded) in enumerate(zip(audit["kept_bins"], audit["discarded_bins"], strict=True)):
            if kept or discarded:
                low, high = (edge * audit["chunk_size"] / BINS_PER_SIZE for edge in (place, place + 1))
                is_last = place == len(audit["kept_bins"]) - 1
                label = f"{low:g} or more" if is_last else f"{low:g} to below {high:g}"
                rows.append((*_keys(audit), label, kept, discarded))
    return Table(
        "chunk-lengths",
        "Chunks by length in tokens, a tenth of the target size a row; lengths that no chunk has are left out.",
        (*KEYS, Column("tokens", "Tokens"), Column("kept", "Kept", "count"), Column("discarded", "Discarded", "count")),
        tuple(rows),
        num_headings=2,
        if_empty=NO_AUDIT,
    )


def repeated_table(audits: list[Audit]) -> Table:
    """One row a text that stands in several chunks: at most ten a corpus and size, the most frequent first."""
    rows = tuple(
        (
            *_keys(audit),
            found["num_chunks"],
            found["num_documents"],
            found["excerpt"],
            found["chunk_id"],
        )
        for audit in audits
        for found in audit["repeated"]
    )
    return Table(
        "repeated-chunks",
        "The ten texts of each corpus and size that stand in the most chunks, white space aside, with how they begin.",
        (
            *KEYS,
            Column("chunks", "Chunks", "count"),
            Column("documents", "Documents", "count"),
            Column("text", "Text"),
            Column("chunk_id", "One of them"),
        ),
        rows,
        num_headings=2,
        if_empty="No text stands in two chunks." if audits else NO_AUDIT,
    )


def twins_sentence(audits: list[Audit]) -> str:
    """Return where the most chunks have a twin; empty without an audit."""
    filled = [audit for audit in audits if audit["num_chunks"]]
    if not filled:
        return ""
    worst = max(filled, key=lambda audit: audit["near_chunks"] / audit["num_chunks"])
    if not worst["near_chunks"]:
        return "No chunk has a twin: a result that is judged wrong says something else than the right one."
    near, identical = (
        number_text(worst[f"{kind}_chunks"] / worst["num_chunks"], "share") for kind in ("near", "identical")
    )
    return (
        f"Twins are most frequent in {worst['corpus']} at {worst['chunk_size']} tokens: {near} of its chunks have one, "
        f"{identical} an identical one."
    )
