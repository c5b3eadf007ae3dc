"""Stage `audit`: documents and chunks -> languages, sketches, twins and audits.

Nothing but the report needs it, and it stands behind the stages that use the machines' time. Sketches are made part by
part; twins are found in the sketches of a whole cell, which hold signatures and no texts.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray import schemas
from teleembed_ray.audit.audits import audits_table
from teleembed_ray.audit.languages import SAMPLE_CHARS, languages_table
from teleembed_ray.audit.shingles import Shingles, shingles
from teleembed_ray.audit.sketches import SEED, sketches_table
from teleembed_ray.audit.twins import rows_per_band, twins_table
from teleembed_ray.chunking.kernel import size_window
from teleembed_ray.lake import File, Lake, Partition
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage, reject_keys
from teleembed_ray.stages.parts import PartTask, Work, run_parts

CHUNK_COLUMNS = ["chunk_id", "doc_id", "corpus", "chunk_size", "num_tokens", "text"]
DOCUMENT_COLUMNS = ["doc_id", "corpus", "format", "text", "num_chars"]


def _cells_of(plan: Plan, corpus: str, size: int) -> list[Cell]:
    """Sketches, twins and audits of one corpus and chunk size."""
    audit, chunk = plan.config.audit, plan.config.chunk
    keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": size}
    chunks = plan.find("chunks", **keys)
    signature = {"shingle_words": audit.shingle_words, "num_perm": schemas.NUM_PERM, "seed": SEED}
    sketches = STAGE.cell("sketches", keys, signature, [chunks.fingerprint])
    twins = STAGE.cell(
        "twins",
        keys,
        {
            "near_threshold": audit.near_threshold,
            "shingle_words": audit.shingle_words,
            "rows_per_band": rows_per_band(audit.near_threshold),
        },
        [chunks.fingerprint, sketches.fingerprint],
    )
    low, high = size_window(size, chunk.min_fraction, chunk.max_fraction)
    window = {"window_low": low, "window_high": high}
    audits = STAGE.cell("audits", keys, window, [chunks.fingerprint, sketches.fingerprint, twins.fingerprint])
    return [sketches, twins, audits]


def cells(plan: Plan) -> list[Cell]:
    """Languages: one cell a corpus; sketches, twins and audits: one a corpus and chunk size."""
    settings = {"min_confidence": plan.config.audit.min_language_confidence, "sample_chars": SAMPLE_CHARS}
    languages = [
        STAGE.cell("languages", {"corpus": corpus}, settings, [plan.find("documents", corpus=corpus).fingerprint])
        for corpus in plan.config.corpora
    ]
    sized = [
        cell
        for corpus in plan.config.corpora
        for size in plan.config.chunk.sizes
        for cell in _cells_of(plan, corpus, size)
    ]
    return [*languages, *sized]


def _paths(partition: Partition) -> list[str]:
    return [f"{partition.path}/{file.name}" for file in partition.files if file.num_rows]


def _read_all(lake: Lake, paths: Sequence[str], schema: pa.Schema, columns: list[str]) -> pa.Table:
    """The rows of some part files; a cell without rows has none."""
    empty = schema.empty_table().select(columns)
    return pa.concat_tables([empty, *(lake.read_parquet(path, columns) for path in paths)])


def read_part(lake: Lake, task: PartTask, columns: list[str]) -> pa.Table:
    """Read the columns that one part's kernel needs."""
    return lake.read_parquet(task.source["path"], columns)


def sketch(task: PartTask, chunks: pa.Table) -> pa.Table:
    """Sketch one part's chunks."""
    return sketches_table(chunks, task.source["settings"]["shingle_words"])


def detect(task: PartTask, documents: pa.Table) -> pa.Table:
    """Name the languages of one part's documents."""
    return languages_table(documents, task.source["settings"]["min_confidence"])


def read_sketches(lake: Lake, task: PartTask) -> pa.Table:
    """Read the sketches of a whole cell."""
    columns = ["chunk_id", "doc_id", "corpus", "chunk_size", "folded_hash", "num_shingles", "signature"]
    return _read_all(lake, task.source["sketches"], schemas.SKETCHES, columns)


def write_twins(lake: Lake, task: PartTask, sketches: pa.Table) -> list[File]:
    """Find the twins of a cell and write them; there may be none, so they do not travel as a block."""
    source = task.source

    def read_shingles(chunk_ids: Sequence[str]) -> dict[str, Shingles]:
        wanted = pa.array(chunk_ids, schemas.ID)
        found: dict[str, Shingles] = {}
        for path in source["chunks"]:
            rows = lake.read_parquet(path, ["chunk_id", "text"])
            rows = rows.filter(pc.is_in(rows["chunk_id"], value_set=wanted))
            for chunk_id, text in zip(rows["chunk_id"].to_pylist(), rows["text"].to_pylist(), strict=True):
                found[chunk_id] = shingles(text, source["settings"]["shingle_words"])
        return found

    twins = twins_table(sketches, read_shingles, source["settings"]["near_threshold"])
    return [lake.write_part(task.fingerprint, task.part, twins)]


def summarise(lake: Lake, task: PartTask) -> pa.Table:
    """Sum up one corpus at one chunk size."""
    source = task.source
    sketch_columns = [name for name in schemas.SKETCHES.names if name != "signature"]
    return audits_table(
        _read_all(lake, source["sketches"], schemas.SKETCHES, sketch_columns),
        _read_all(lake, source["twins"], schemas.TWINS, schemas.TWINS.names),
        _read_all(lake, source["rejects"], schemas.REJECTS, schemas.REJECTS.names),
        corpus=source["keys"]["corpus"],
        chunk_size=source["keys"]["chunk_size"],
        window=(source["settings"]["window_low"], source["settings"]["window_high"]),
    )


def _part_work(context: RunContext, cell: Cell, partition: Partition) -> Work:
    """One task a part of the input."""
    tasks = [
        PartTask(
            cell.fingerprint,
            index,
            {"path": f"{partition.path}/{file.name}", "settings": cell.settings},
            file.num_rows,
        )
        for index, file in enumerate(partition.files)
        if file.num_rows
    ]
    return Work(cell, tasks)


def _cell_work(context: RunContext, cell: Cell, tables: Sequence[str], is_always: bool) -> Work:
    """One task for the whole cell; without chunks there is one only where the cell has a row all the same."""
    partitions = {table: context.partition(context.plan.find(table, **cell.keys)) for table in tables}
    source: dict[str, Any] = {table: _paths(partition) for table, partition in partitions.items()}
    chunk = context.plan.find("chunks", **cell.keys)
    rejects = context.lake.partition("rejects", reject_keys(chunk))
    source |= {"rejects": _paths(rejects) if rejects else [], "keys": dict(cell.keys), "settings": cell.settings}
    num_rows = partitions["sketches"].num_rows
    return Work(cell, [PartTask(cell.fingerprint, 0, source, num_rows)] if num_rows or is_always else [])


def run(context: RunContext, cells: list[Cell]) -> None:
    """Compute the stale cells, table by table: each is made from the one before it."""
    plan = context.plan
    of_table = {table: [cell for cell in cells if cell.table == table] for table in STAGE.writes}
    run_parts(
        context,
        [
            _part_work(context, cell, context.partition(plan.find("documents", **cell.keys)))
            for cell in of_table["languages"]
        ],
        partial(read_part, columns=DOCUMENT_COLUMNS),
        kernel=detect,
        label="audit languages",
        unit="documents",
        empty=schemas.LANGUAGES,
    )
    run_parts(
        context,
        [
            _part_work(context, cell, context.partition(plan.find("chunks", **cell.keys)))
            for cell in of_table["sketches"]
        ],
        partial(read_part, columns=CHUNK_COLUMNS),
        kernel=sketch,
        label="audit sketches",
        unit="chunks",
        empty=schemas.SKETCHES,
    )
    run_parts(
        context,
        [_cell_work(context, cell, ("chunks", "sketches"), is_always=False) for cell in of_table["twins"]],
        read_sketches,
        write=write_twins,
        label="audit twins",
        unit="chunks",
        empty=schemas.TWINS,
    )
    run_parts(
        context,
        [_cell_work(context, cell, ("sketches", "twins"), is_always=True) for cell in of_table["audits"]],
        summarise,
        label="audit",
        unit="chunks",
        empty=schemas.AUDITS,
    )


STAGE = Stage(
    "audit",
    reads=("documents", "chunks", "rejects"),
    writes=("languages", "sketches", "twins", "audits"),
    version=1,
    cells=cells,
    run=run,
)
