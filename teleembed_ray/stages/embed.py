"""Stage `embed`: chunks and questions -> vectors, one model after the other."""

from functools import partial
from typing import Any

import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.embedding.card import ModelCard
from teleembed_ray.lake import Lake
from teleembed_ray.models import EncoderSource
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.parts import Kernel, PartTask, Work, run_parts

# What is embedded, and the table it comes from.
SOURCES = {"chunk": "chunks", "question": "pairs"}
COLUMNS = {
    "chunk": ["chunk_id", "corpus", "chunk_size", "text"],
    "question": ["question_id", "corpus", "chunk_size", "question"],
}


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
    path, kind = task.source
    return lake.read_parquet(path, COLUMNS[kind])


def make_kernel(source: EncoderSource, batch_tokens: int, threads: int) -> Kernel:
    """Load the model on the worker and return the kernel that embeds a part with it."""
    # Imported here, so that a run which finds all vectors done does not wait for torch.
    from teleembed_ray.embedding.encoder import load_encoder
    from teleembed_ray.embedding.kernel import embed_chunks_table, embed_questions_table

    encoder = load_encoder(source.card, source.locate(), batch_tokens=batch_tokens, threads=threads)

    def embed(task: PartTask, rows: pa.Table) -> pa.Table:
        _, kind = task.source
        return embed_chunks_table(rows, encoder) if kind == "chunk" else embed_questions_table(rows, encoder)

    return embed


def run(context: RunContext, cells: list[Cell]) -> None:
    """Embed with one model at a time: its actors are gone before the next model's start."""
    embed = context.config.embed
    for model, source in context.plan.encoders.items():
        works = []
        for cell in (cell for cell in cells if cell.keys["model"] == model):
            kind = str(cell.keys["kind"])
            table = SOURCES[kind]
            partition = context.partition(
                context.plan.find(table, corpus=cell.keys["corpus"], chunk_size=cell.keys["chunk_size"])
            )
            tasks = [
                PartTask(cell.fingerprint, index, (f"{partition.path}/{file.name}", kind), file.num_rows)
                for index, file in enumerate(partition.files)
                if file.num_rows
            ]
            works.append(Work(cell, tasks))
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


STAGE = Stage("embed", reads=("chunks", "pairs"), writes=("vectors", "rejects"), version=1, cells=cells, run=run)
