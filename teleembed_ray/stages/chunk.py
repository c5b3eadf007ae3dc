"""Stage `chunk`: documents -> chunks, one cell a corpus and chunk size."""

import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.chunking.kernel import chunk_table
from teleembed_ray.chunking.separators import KEEP_SEPARATOR, SEPARATORS
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.parts import PartTask, Work, run_parts


def cells(plan: Plan) -> list[Cell]:
    """One cell a corpus and chunk size."""
    chunk = plan.config.chunk
    return [
        STAGE.cell(
            "chunks",
            {"corpus": corpus, "chunk_size": size},
            {
                "overlap": chunk.overlap,
                "min_fraction": chunk.min_fraction,
                "max_fraction": chunk.max_fraction,
                "separators": SEPARATORS[config.separators],
                "keep_separator": KEEP_SEPARATOR[config.separators],
            },
            [plan.find("documents", corpus=corpus).fingerprint],
        )
        for corpus, config in plan.config.corpora.items()
        for size in chunk.sizes
    ]


def read_documents(lake: Lake, task: PartTask) -> pa.Table:
    """Read one part of the documents."""
    path, _, _ = task.source
    return lake.read_parquet(path)


def chunk(task: PartTask, documents: pa.Table) -> pa.Table:
    """Cut one part's documents."""
    _, size, settings = task.source
    return chunk_table(
        documents,
        chunk_size=size,
        overlap=settings["overlap"],
        min_fraction=settings["min_fraction"],
        max_fraction=settings["max_fraction"],
        separators=settings["separators"],
        keep=settings["keep_separator"],
    )


def run(context: RunContext, cells: list[Cell]) -> None:
    """Cut the documents of every stale cell; a part of chunks comes from one part of documents."""
    works = []
    for cell in cells:
        corpus, size = str(cell.keys["corpus"]), int(cell.keys["chunk_size"])
        documents = context.partition(context.plan.find("documents", corpus=corpus))
        tasks = [
            PartTask(
                cell.fingerprint,
                index,
                (f"{documents.path}/{file.name}", size, cell.settings),
                file.num_rows,
                file.num_bytes,
            )
            for index, file in enumerate(documents.files)
            if file.num_rows
        ]
        works.append(Work(cell, tasks))
    run_parts(context, works, read_documents, kernel=chunk, label="chunk", unit="documents", empty=schemas.CHUNKS)


STAGE = Stage("chunk", reads=("documents",), writes=("chunks", "rejects"), version=2, cells=cells, run=run)
