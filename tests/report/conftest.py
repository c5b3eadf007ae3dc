"""A small lake with rows made by hand: two corpora, one chunk size, two models, three questions."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from teleembed_ray import schemas
from teleembed_ray.lake import Keys, Lake

SIZE = 512
SCRIPT = "<script>alert(1)</script>"
MANIFEST = {
    "wall_s": 1.5,
    "packages": {"ray": "2.60.0", "torch": "2.13.0"},
    "git_commit": "0123456789abcdef0123456789abcdef01234567",
    "created": "2026-12-01T00:00:00Z",
    "settings": {"seed": 7},
}

DOCUMENTS = {
    "oran": [
        {
            "doc_id": "d1",
            "path": "wg4/cus.docx",
            "title": f"Fronthaul {SCRIPT}",
            "num_chars": 900,
            "dropped": 100,
        },
        {"doc_id": "d2", "path": "=cmd|calc.docx", "title": "Security", "num_chars": 600, "dropped": 0},
    ],
    "srsran": [{"doc_id": "d3", "path": "lib/rrc.cc", "title": "", "num_chars": 400, "dropped": 400}],
}
CHUNKS = {"oran": [("c1", "d1"), ("c2", "d1"), ("c3", "d2")], "srsran": [("c4", "d3")]}
# (question_id, chunk_id, question, clean)
PAIRS = {
    "oran": [("q1", "c1", f"What does {SCRIPT} mean?", True), ("q2", "c3", "Which plane | carries IQ data", False)],
    "srsran": [("q3", "c4", "Where is RRC set up?", True)],
}
# (question_id, accepted, verdict, substantive, specific, answerable, top_result)
CANDIDATES: dict[str, list[tuple[Any, ...]]] = {
    "oran": [
        ("q1", True, "accepted", True, True, True, True),
        ("q2", True, "accepted", True, True, True, True),
        ("q4", False, "not_specific", True, False, True, True),
        ("q5", False, "malformed_reply", None, None, None, None),
    ],
    "srsran": [("q3", True, "accepted", True, True, True, True)],
}
# model -> (corpus, strategy) -> (question_id, gold, rank, chunk_ids)
RANKINGS: dict[str, dict[tuple[str, str], list[tuple[Any, ...]]]] = {
    "alpha": {
        ("oran", "A"): [("q1", "c1", 1, ["c1", "c2"]), ("q2", "c3", 1, ["c3", "c1"])],
        ("srsran", "A"): [("q3", "c4", 1, ["c4"])],
        ("oran", "C"): [("q1", "c1", 2, ["c2", "c1"]), ("q2", "c3", None, ["c4", "c1"])],
        ("srsran", "C"): [("q3", "c4", 1, ["c4", "c1"])],
    },
    "beta": {
        ("oran", "A"): [("q1", "c1", 2, ["c3", "c1"]), ("q2", "c3", 1, ["c3", "c1"])],
        ("srsran", "A"): [("q3", "c4", None, [])],
        ("oran", "C"): [("q1", "c1", 2, ["c3", "c1"]), ("q2", "c3", 1, ["c3", "c1"])],
        ("srsran", "C"): [("q3", "c4", None, [])],
    },
}
# model -> (corpus, strategy, subset) -> (value, n) of the accuracy
SCORES: dict[str, dict[tuple[str, str, str], tuple[float | None, int]]] = {
    "alpha": {
        ("oran", "A", "main"): (1.0, 2),
        ("srsran", "A", "main"): (1.0, 1),
        ("macro", "B", "main"): (1.0, 3),
        ("oran", "C", "main"): (0.0, 2),
        ("srsran", "C", "main"): (1.0, 1),
        ("macro", "C", "main"): (0.5, 3),
        ("oran", "A", "clean"): (1.0, 1),
        ("srsran", "A", "clean"): (1.0, 1),
        ("macro", "B", "clean"): (1.0, 2),
    },
    "beta": {
        ("oran", "A", "main"): (0.5, 2),
        ("srsran", "A", "main"): (0.0, 1),
        ("macro", "B", "main"): (0.25, 3),
        ("oran", "C", "main"): (0.5, 2),
        ("srsran", "C", "main"): (0.0, 1),
        ("macro", "C", "main"): (0.25, 3),
        ("oran", "A", "clean"): (0.0, 1),
        ("srsran", "A", "clean"): (None, 0),
        ("macro", "B", "clean"): (None, 0),
    },
}


def rows_of(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows with every column of the schema, null where a row does not name it."""
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def publish(lake: Lake, table: str, keys: Keys, rows: pa.Table, **manifest: Any) -> None:
    """Publish one partition of one part."""
    fingerprint = "-".join([table, *(str(value) for value in keys.values())])
    file = lake.write_part(fingerprint, 0, rows)
    lake.publish(table, keys, fingerprint, {**MANIFEST, **manifest}, [file])


def publish_documents(lake: Lake) -> None:
    """Documents with their texts, and one reject."""
    for corpus, documents in DOCUMENTS.items():
        rows = [
            {
                **document,
                "corpus": corpus,
                "text": "x",
                "num_dropped_chars": document["dropped"],
                "num_unmapped_chars": 3,
            }
            for document in documents
        ]
        publish(lake, "documents", {"corpus": corpus}, rows_of(rows, schemas.DOCUMENTS), stage="ingest")
    reject = {
        "id": "d9",
        "stage": "ingest",
        "corpus": "oran",
        "reason": "damaged",
        "detail": "wg1/broken.docx: no zip file at /home/someone/data/wg1/broken.docx",
    }
    publish(lake, "rejects", {"stage": "ingest", "corpus": "oran"}, rows_of([reject], schemas.REJECTS))


def publish_chunks(lake: Lake) -> None:
    """Chunks whose text names their id."""
    for corpus, chunks in CHUNKS.items():
        keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": SIZE}
        rows = [
            {**keys, "chunk_id": chunk, "doc_id": document, "text": f"Text of {chunk} {SCRIPT}"}
            for chunk, document in chunks
        ]
        publish(lake, "chunks", keys, rows_of(rows, schemas.CHUNKS), stage="chunk")


def publish_pairs(lake: Lake, generator: str = "Qwen3-14b", per_cell: int = 2) -> None:
    """Candidates and the pairs among them; srsran falls short of its quota."""
    documents = {chunk: document for chunks in CHUNKS.values() for chunk, document in chunks}
    criteria = ("substantive", "specific", "answerable", "top_result")
    for corpus, candidates in CANDIDATES.items():
        keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": SIZE}
        names = {"generator": generator, "validator": "Gemma3-12b", "prompt_version": "v1"}
        tried = [
            {
                **keys,
                **names,
                "question_id": row[0],
                "accepted": row[1],
                "verdict": row[2],
                **dict(zip(criteria, row[3:], strict=True)),
                "num_prompt_tokens": 100,
                "num_output_tokens": 10,
            }
            for row in candidates
        ]
        kept = [
            {
                **keys,
                **names,
                "question_id": row[0],
                "chunk_id": row[1],
                "doc_id": documents[row[1]],
                "question": row[2],
                "clean": row[3],
            }
            for row in PAIRS[corpus]
        ]
        facts = {
            "stage": "pairs",
            "per_cell": per_cell,
            "exhausted": len(kept) < per_cell,
            "pool_chunks": len(CHUNKS[corpus]),
        }
        publish(lake, "candidates", keys, rows_of(tried, schemas.CANDIDATES), **facts)
        publish(lake, "pairs", keys, rows_of(kept, schemas.PAIRS), **facts)


def publish_vectors(lake: Lake) -> None:
    """Vectors: alpha cuts two of the three O-RAN chunks, beta none."""
    for model in RANKINGS:
        for corpus in CHUNKS:
            for kind, ids in (("chunk", [c for c, _ in CHUNKS[corpus]]), ("question", [p[0] for p in PAIRS[corpus]])):
                keys: dict[str, str | int] = {"model": model, "kind": kind, "corpus": corpus, "chunk_size": SIZE}
                cut = 2 if (model, kind, corpus) == ("alpha", "chunk", "oran") else 0
                rows = [
                    {**keys, "id": identifier, "truncated": index < cut, "vector": [1.0, 0.0]}
                    for index, identifier in enumerate(ids)
                ]
                card = {"card": {"name": model, "max_tokens": 256}, "revision": "abc"}
                publish(lake, "vectors", keys, rows_of(rows, schemas.vectors(2)), stage="embed", settings=card)


def publish_rankings(lake: Lake) -> None:
    """Rankings with scores that fall by a tenth a rank."""
    for model, cells in RANKINGS.items():
        for (corpus, strategy), found in cells.items():
            keys: dict[str, str | int] = {"model": model, "corpus": corpus, "chunk_size": SIZE, "strategy": strategy}
            rows = [
                {
                    **keys,
                    "question_id": question,
                    "gold_chunk_id": gold,
                    "gold_rank": rank,
                    "chunk_ids": ids,
                    "scores": [0.9 - 0.1 * index for index in range(len(ids))],
                }
                for question, gold, rank, ids in found
            ]
            publish(lake, "rankings", keys, rows_of(rows, schemas.RANKINGS), stage="retrieve")


# corpus -> (chunks kept, too small, too large, chunks with an identical twin, with a near one)
AUDITS = {"oran": (3, 1, 0, 2, 3), "srsran": (1, 0, 0, 0, 0)}
# (chunk_id, doc_id, kind): c1 and c2 say the same, c3 nearly so.
TWINS = [
    ("c1", "d1", "identical"),
    ("c2", "d1", "identical"),
    ("c1", "d1", "near"),
    ("c2", "d1", "near"),
    ("c3", "d2", "near"),
]
LANGUAGES = {"oran": [("d1", "en", None), ("d2", "de", None)], "srsran": [("d3", "undetermined", "code")]}


def audit_row(corpus: str) -> dict[str, Any]:
    """One audit; the counts that are not named are zero, and the bins hold the chunks at the target size."""
    kept, small, large, identical, near = AUDITS[corpus]
    repeated = {"chunk_id": "c1", "num_chunks": 2, "num_documents": 1, "excerpt": f"=Text {SCRIPT} /* of code */"}
    row: dict[str, Any] = dict.fromkeys(schemas.AUDITS.names, 0)
    return row | {
        "corpus": corpus,
        "chunk_size": SIZE,
        "window_low": 256,
        "window_high": 768,
        "num_chunks": kept,
        "num_too_small": small,
        "num_too_large": large,
        "num_chunked_documents": len(DOCUMENTS[corpus]),
        "num_tokens": kept * SIZE,
        "num_discarded_tokens": small * SIZE,
        "mean_tokens": 512.0,
        "median_tokens": 512.0,
        "p95_tokens": 512.0,
        "num_chars": 1000,
        "num_digits": 50,
        "num_symbols": 100,
        "kept_bins": [kept if place == 10 else 0 for place in range(21)],
        "discarded_bins": [small if place == 1 else 0 for place in range(21)],
        "identical_chunks": identical,
        "identical_groups": identical // 2,
        "near_chunks": near,
        "near_groups": near // 3,
        "repeated": [repeated] if identical else [],
    }


def publish_audits(lake: Lake) -> None:
    """Languages, twins and audits."""
    for corpus in AUDITS:
        keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": SIZE}
        twins = [
            {**keys, "chunk_id": chunk, "doc_id": document, "kind": kind, "twin_group": "c1"}
            for chunk, document, kind in (TWINS if corpus == "oran" else [])
        ]
        languages = [
            {"corpus": corpus, "doc_id": document, "num_chars": 100, "language": language, "why_undetermined": why}
            for document, language, why in LANGUAGES[corpus]
        ]
        publish(lake, "languages", {"corpus": corpus}, rows_of(languages, schemas.LANGUAGES), stage="audit")
        publish(lake, "twins", keys, rows_of(twins, schemas.TWINS), stage="audit")
        publish(lake, "audits", keys, rows_of([audit_row(corpus)], schemas.AUDITS), stage="audit")


def publish_scores(lake: Lake) -> None:
    """Accuracy as listed, and MRR with the same values."""
    for model, values in SCORES.items():
        rows = [
            {
                "model": model,
                "corpus": corpus,
                "chunk_size": SIZE,
                "strategy": strategy,
                "subset": subset,
                "metric": metric,
                "value": value,
                "n": n,
                "low": None if value is None else max(0.0, value - 0.125),
                "high": None if value is None else min(1.0, value + 0.125),
                "interval": "wilson",
                "num_missing": 0,
            }
            for (corpus, strategy, subset), (value, n) in values.items()
            for metric in ("accuracy", "mrr")
        ]
        keys: dict[str, str | int] = {"model": model, "chunk_size": SIZE}
        settings = {"confidence": 0.95}
        publish(lake, "scores", keys, rows_of(rows, schemas.SCORES), stage="evaluate", settings=settings)


# In the order of the stages.
PUBLISHERS: dict[str, Callable[..., None]] = {
    "documents": publish_documents,
    "chunks": publish_chunks,
    "pairs": publish_pairs,
    "vectors": publish_vectors,
    "rankings": publish_rankings,
    "audits": publish_audits,
    "scores": publish_scores,
}


@pytest.fixture
def empty_lake(tmp_path: Path) -> Lake:
    """A lake without tables."""
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    return lake


@pytest.fixture
def publishers() -> dict[str, Callable[..., None]]:
    """What fills a lake, by table."""
    return PUBLISHERS


@pytest.fixture
def full_lake(empty_lake: Lake) -> Lake:
    """A lake with every table."""
    for fill in PUBLISHERS.values():
        fill(empty_lake)
    return empty_lake
