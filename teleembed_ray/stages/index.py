"""Stage `index`: chunk vectors -> FAISS shards, one shard set a model, corpus and chunk size."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.index.shard import build_shard, shard_to_bytes
from teleembed_ray.lake import File, Lake, Partition, part_name
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.parts import PartTask, Work, run_parts


def cells(plan: Plan) -> list[Cell]:
    """One cell a model, corpus and chunk size."""
    return [
        STAGE.cell(
            "shards",
            {"model": model, "corpus": corpus, "chunk_size": size},
            {"shard_rows": plan.config.index.shard_rows},
            [plan.find("vectors", model=model, kind="chunk", corpus=corpus, chunk_size=size).fingerprint],
        )
        for model in plan.encoders
        for corpus in plan.config.corpora
        for size in plan.config.chunk.sizes
    ]


def cut(vectors: Partition, shard_rows: int) -> list[list[File]]:
    """Group the parts of a vectors partition into shards of about `shard_rows` rows; a part is never split."""
    shards: list[list[File]] = []
    num_rows = 0
    for file in vectors.files:
        if not file.num_rows:
            continue
        if not shards or num_rows + file.num_rows > shard_rows:
            shards.append([])
            num_rows = 0
        shards[-1].append(file)
        num_rows += file.num_rows
    return shards


def read_vectors(lake: Lake, task: PartTask) -> pa.Table:
    """Read the vectors of one shard."""
    return pa.concat_tables([lake.read_parquet(path, ["id", "vector"]) for path in task.source["vectors"]])


def as_matrix(column: pa.ChunkedArray) -> npt.NDArray[np.float32]:
    """A column of fixed-size lists as a matrix: C rows, D dims, float32."""
    flat = column.combine_chunks()
    matrix_CD: npt.NDArray[np.float32] = flat.flatten().to_numpy(zero_copy_only=False).reshape(len(flat), -1)
    return matrix_CD


def write_shard(lake: Lake, task: PartTask, rows: pa.Table) -> list[File]:
    """Build one shard and write the index, then the ids of its rows in the index's order."""
    shard = build_shard(rows["id"].to_pylist(), as_matrix(rows["vector"]))
    index = lake.write_part_bytes(task.fingerprint, part_name(task.part, "shard"), shard_to_bytes(shard))
    keys = task.source["keys"]
    ids = pa.table(
        {
            "model": pa.array([keys["model"]] * len(shard.ids), pa.string()),
            "corpus": pa.array([keys["corpus"]] * len(shard.ids), pa.string()),
            "chunk_size": pa.array([keys["chunk_size"]] * len(shard.ids), pa.int32()),
            "shard": pa.array([task.part] * len(shard.ids), pa.int32()),
            "row": pa.array(range(len(shard.ids)), pa.int64()),
            "chunk_id": pa.array(shard.ids, schemas.ID),
        },
        schema=schemas.SHARDS,
    )
    return [index, lake.write_part(task.fingerprint, task.part, ids)]


def run(context: RunContext, cells: list[Cell]) -> None:
    """Build the shards of every stale cell."""
    works = []
    for cell in cells:
        vectors = context.partition(context.plan.find("vectors", kind="chunk", **cell.keys))
        tasks = [
            PartTask(
                cell.fingerprint,
                shard,
                {"keys": dict(cell.keys), "vectors": [f"{vectors.path}/{file.name}" for file in files]},
                sum(file.num_rows for file in files),
            )
            for shard, files in enumerate(cut(vectors, context.config.index.shard_rows))
        ]
        works.append(Work(cell, tasks))
    run_parts(context, works, read_vectors, write=write_shard, label="index", unit="vectors", empty=schemas.SHARDS)


STAGE = Stage("index", reads=("vectors",), writes=("shards",), version=1, cells=cells, run=run)
