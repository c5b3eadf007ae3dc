"""The stage `audit` through Ray: the same tables at any cut, an audit of an empty corpus, nothing done twice."""

import io
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from teleembed_ray import schemas
from teleembed_ray.chunking.kernel import chunk_table
from teleembed_ray.chunking.separators import SEPARATORS
from teleembed_ray.config import RunConfig
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import Cell, Plan, RunContext, make_cell, reject_keys, run, state
from teleembed_ray.progress import Progress
from teleembed_ray.stages import audit
from teleembed_ray.stages.parts import rejects_fingerprint, split_rejects

pytestmark = pytest.mark.ray

SIZE = 64
LLM = {"model": "a"}
CONFIG = RunConfig.model_validate(
    {
        "lake": "lake",
        "corpora": {"core": {"path": "core"}, "void": {"path": "void"}},
        "chunk": {"sizes": [SIZE], "overlap": 8},
        "pairs": {"generator": LLM, "validator": {"model": "b"}},
        "embed": {"models": ["minilm"]},
        "report": {"folder": "report"},
    }
)


def documents_of() -> pa.Table:
    """Seven documents of which three share a passage, one is code and one is too short for a chunk."""
    passage = " ".join(f"word{number}" for number in range(40))
    texts = [f"{passage}\n\n{' '.join(f'own{index}of{n}' for n in range(40))}" for index in range(3)]
    texts += [" ".join(f"single{index}of{n}" for n in range(60)) for index in range(3)] + ["short"]
    empty = dict.fromkeys(schemas.DOCUMENTS.names)
    rows = [
        {"doc_id": f"d{index}", "corpus": "core", "format": "cpp" if index == 3 else "docx", "text": text}
        for index, text in enumerate(texts)
    ]
    return pa.Table.from_pylist([empty | row for row in rows], schema=schemas.DOCUMENTS)


def publish(lake: Lake, cell: Cell, table: pa.Table, num_parts: int) -> None:
    edges = [table.num_rows * part // num_parts for part in range(num_parts + 1)]
    files = [
        lake.write_part(cell.fingerprint, part, table.slice(start, end - start))
        for part, (start, end) in enumerate(pairwise(edges))
    ]
    lake.publish(cell.table, cell.keys, cell.fingerprint, {}, files)


def audited(folder: Path, num_parts: int) -> tuple[RunContext, Lake]:
    """A lake with the documents and chunks of two corpora, one of them empty, and their audit."""
    lake = Lake(str(folder))
    lake.create()
    plan = Plan(CONFIG, {}, {}, None, None)  # type: ignore[arg-type]
    documents = {name: make_cell("ingest", 1, "documents", {"corpus": name}, {}, []) for name in CONFIG.corpora}
    chunks = {
        name: make_cell("chunk", 1, "chunks", {"corpus": name, "chunk_size": SIZE}, {}, []) for name in CONFIG.corpora
    }
    plan.add("ingest", list(documents.values()))
    plan.add("chunk", list(chunks.values()))
    plan.add("audit", audit.STAGE.cells(plan))
    for name, rows in (("core", documents_of()), ("void", schemas.DOCUMENTS.empty_table())):
        publish(lake, documents[name], rows, num_parts)
        kept, rejects = split_rejects(chunks[name], chunk_table(rows, SIZE, 8, 0.5, 1.5, SEPARATORS["prose"]))
        if rejects.num_rows:
            file = lake.write_part(rejects_fingerprint(chunks[name].fingerprint), 0, rejects)
            keys = reject_keys(chunks[name])
            lake.publish("rejects", keys, rejects_fingerprint(chunks[name].fingerprint), {}, [file])
        publish(lake, chunks[name], kept, num_parts)
    context = RunContext(plan, lake, Progress(io.StringIO()), {"packages": {}})
    assert run(context, [audit.STAGE], lambda: None) == 8
    return context, lake


def test_one_part_and_seven_give_the_same_tables(tmp_path: Path, ray_session: None) -> None:
    _, one = audited(tmp_path / "one", 1)
    _, seven = audited(tmp_path / "seven", 7)
    assert len(seven.partitions("chunks")[0].files) == 7
    for table in audit.STAGE.writes:
        left, right = one.read_all(table), seven.read_all(table)
        assert left is not None
        assert left.equals(right), table


def test_every_cell_is_done_and_a_second_run_does_nothing(tmp_path: Path, ray_session: None) -> None:
    context, lake = audited(tmp_path, 2)
    assert {state(lake, cell) for cell in context.plan.cells["audit"]} == {"done"}

    def connect() -> None:
        raise AssertionError("Ray was needed")

    assert run(context, [audit.STAGE], connect) == 0


def test_the_tables_say_what_the_documents_hold(tmp_path: Path, ray_session: None) -> None:
    _, lake = audited(tmp_path, 3)
    audits = lake.read_all("audits")
    assert audits is not None
    rows = {row["corpus"]: row for row in audits.to_pylist()}
    core = rows["core"]
    assert (core["num_chunked_documents"], core["num_chunkless_documents"]) == (6, 1)
    # The window of 64 tokens.
    assert (core["window_low"], core["window_high"]) == (32, 96)
    assert sum(core["discarded_bins"]) == core["num_too_small"] + core["num_too_large"] > 0
    assert core["identical_other_document"] >= 3
    assert (rows["void"]["num_chunks"], rows["void"]["mean_tokens"]) == (0, None)
    languages = lake.read_all("languages")
    assert languages is not None
    assert [row["why_undetermined"] for row in languages.to_pylist() if row["doc_id"] == "d3"] == ["code"]
    sketches = lake.read_all("sketches")
    assert sketches is not None
    assert sketches.num_rows == core["num_chunks"]


def test_another_threshold_makes_twins_and_audits_anew_and_keeps_the_sketches() -> None:
    def fingerprints(config: RunConfig) -> dict[str, str]:
        plan = Plan(config, {}, {}, None, None)  # type: ignore[arg-type]
        plan.add("ingest", [make_cell("ingest", 1, "documents", {"corpus": name}, {}, []) for name in config.corpora])
        keys = [{"corpus": name, "chunk_size": SIZE} for name in config.corpora]
        plan.add("chunk", [make_cell("chunk", 1, "chunks", key, {}, []) for key in keys])
        return {cell.path: cell.fingerprint for cell in audit.STAGE.cells(plan)}

    stricter = CONFIG.model_copy(update={"audit": CONFIG.audit.model_copy(update={"near_threshold": 0.9})})
    before, after = fingerprints(CONFIG), fingerprints(stricter)
    assert {path.split("/")[0] for path in before if before[path] != after[path]} == {"twins", "audits"}
