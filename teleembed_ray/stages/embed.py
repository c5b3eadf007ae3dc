"""Stage `embed`: chunks and questions -> vectors, one model after the other."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.embedding.card import ModelCard
from teleembed_ray.lake import Lake, Partition
from teleembed_ray.models import EncoderSource
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.parts import Kernel, PartTask, Work, run_parts

# What is embedded, and the table it comes from.
SOURCES = {"chunk": "chunks", "question": "pairs"}
COLUMNS = {
    "chunk": ["chunk_id", "corpus", "chunk_size", "text"],
    "question": ["question_id", "corpus", "chunk_size", "question"],
}

# A cell is cut into about this many parts, each within these bounds: many enough to keep all actors busy to the end and
# to lose little in a crash, and not so many that a lake fills with small files. No number of actors has a say in it,
# since texts are batched part by part, and what is batched together may change the last bits.
PARTS_OF_CELL = 32
PART_ROWS = (16, 1024)


def cells(plan: Plan) -> list[Cell]:
    """One cell a model, kind, corpus and chunk size."""
    embed = plan.config.embed
    return [
        STAGE.cell(
            "vectors",
            {"model": model, "kind": kind, "corpus": corpus, "chunk_size": size},
            {
                "card": shaping_values(source.card),
                "revision": source.revision,
                "batch_tokens": embed.batch_tokens,
                "threads": embed.threads,
            },
            [plan.find(table, corpus=corpus, chunk_size=size).fingerprint],
        )
        for model, source in plan.encoders.items()
        for kind, table in SOURCES.items()
        for corpus in plan.config.corpora
        for size in plan.config.chunk.sizes
    ]


def shaping_values(card: ModelCard) -> dict[str, Any]:
    """The values of a card that shape vectors; where the weights lie and their licence do not."""
    return card.model_dump(mode="json", exclude={"path", "hub_id", "embedded", "licence", "num_parameters"})


def read_texts(lake: Lake, task: PartTask) -> pa.Table:
    """Read the texts of one part."""
    path, kind, first_row = task.source
    return lake.read_parquet(path, COLUMNS[kind]).slice(first_row, task.num_rows)


def make_kernel(source: EncoderSource, batch_tokens: int, threads: int) -> Kernel:
    """Load the model on the worker and return the kernel that embeds a part with it."""
    # Imported here, so that a run which finds all vectors done does not wait for torch.
    from teleembed_ray.embedding.encoder import load_encoder
    from teleembed_ray.embedding.kernel import embed_chunks_table, embed_questions_table

    encoder = load_encoder(source.card, source.locate(), batch_tokens=batch_tokens, threads=threads)

    def embed(task: PartTask, rows: pa.Table) -> pa.Table:
        _, kind, _ = task.source
        return embed_chunks_table(rows, encoder) if kind == "chunk" else embed_questions_table(rows, encoder)

    return embed


def cut(cell: Cell, partition: Partition) -> Iterator[PartTask]:
    """Cut the rows of a partition into parts, file by file."""
    fewest, most = PART_ROWS
    num_rows = min(max(math.ceil(partition.num_rows / PARTS_OF_CELL), fewest), most)
    starts = ((file, first_row) for file in partition.files for first_row in range(0, file.num_rows, num_rows))
    for part, (file, first_row) in enumerate(starts):
        source = (f"{partition.path}/{file.name}", str(cell.keys["kind"]), first_row)
        yield PartTask(cell.fingerprint, part, source, min(num_rows, file.num_rows - first_row))


def run(context: RunContext, cells: list[Cell]) -> None:
    """Embed with one model at a time: its actors are gone before the next model's start."""
    embed = context.config.embed
    for model, source in context.plan.encoders.items():
        works = []
        for cell in (cell for cell in cells if cell.keys["model"] == model):
            table = SOURCES[str(cell.keys["kind"])]
            keys = {key: cell.keys[key] for key in ("corpus", "chunk_size")}
            partition = context.partition(context.plan.find(table, **keys))
            works.append(Work(cell, list(cut(cell, partition))))
        if works:
            run_parts(
                context,
                works,
                read_texts,
                make_kernel=partial(make_kernel, source, embed.batch_tokens, embed.threads),
                actors=context.config.resources.embed,
                label=f"embed {model}",
                unit="texts",
                empty=schemas.vectors(source.card.num_dims),
            )


STAGE = Stage("embed", reads=("chunks", "pairs"), writes=("vectors", "rejects"), version=2, cells=cells, run=run)
