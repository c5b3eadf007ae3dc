"""Stage `retrieve`: questions against shards -> hits, and hits merged -> rankings.

Each shard is searched once with every question that may ask it. Strategy A merges the hits of the shards of the
question's own corpus, Strategy C those of all corpora: the merged index is a view and costs no second index.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray import schemas
from teleembed_ray.index.merge import merge_hits, rank_of
from teleembed_ray.index.search import hits_table
from teleembed_ray.index.shard import shard_from_bytes
from teleembed_ray.lake import Lake, part_name
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.index import as_matrix
from teleembed_ray.stages.parts import PartTask, Work, run_parts


def asking_corpora(plan: Plan, corpus: str) -> list[str]:
    """Corpora whose questions search the shards of `corpus`."""
    return list(plan.config.corpora) if "C" in plan.config.retrieve.strategies else [corpus]


def answering_corpora(plan: Plan, corpus: str, strategy: str) -> list[str]:
    """Corpora whose shards answer the questions of `corpus` under a strategy."""
    return list(plan.config.corpora) if strategy == "C" else [corpus]


def cells(plan: Plan) -> list[Cell]:
    """Hits: one cell a model, corpus of the shards and size; rankings: one a model, corpus, size and strategy."""
    depth = {"depth": plan.config.retrieve.depth}
    combinations = [
        (model, corpus, size)
        for model in plan.encoders
        for corpus in plan.config.corpora
        for size in plan.config.chunk.sizes
    ]
    hits = {
        (model, corpus, size): STAGE.cell(
            "hits",
            {"model": model, "corpus": corpus, "chunk_size": size},
            depth,
            [
                plan.find("shards", model=model, corpus=corpus, chunk_size=size).fingerprint,
                *(
                    plan.find("vectors", model=model, kind="question", corpus=asker, chunk_size=size).fingerprint
                    for asker in asking_corpora(plan, corpus)
                ),
            ],
        )
        for model, corpus, size in combinations
    }
    rankings = [
        STAGE.cell(
            "rankings",
            {"model": model, "corpus": corpus, "chunk_size": size, "strategy": strategy},
            depth,
            [
                plan.find("pairs", corpus=corpus, chunk_size=size).fingerprint,
                *(hits[model, answerer, size].fingerprint for answerer in answering_corpora(plan, corpus, strategy)),
            ],
        )
        for model, corpus, size in combinations
        for strategy in plan.config.retrieve.strategies
    ]
    return [*hits.values(), *rankings]


def search(lake: Lake, task: PartTask) -> pa.Table:
    """Search one shard with all questions that may ask it: one row a question, its top-k chunks of this shard."""
    source = task.source
    shard = shard_from_bytes(lake.read_bytes(f"{source['shards']}/{part_name(source['shard'], 'shard')}"))
    questions = pa.concat_tables([lake.read_parquet(path, ["id", "vector"]) for path in source["questions"]])
    question_ids, vectors_QD = questions["id"].to_pylist(), as_matrix(questions["vector"])
    hits = hits_table(shard, str(source["shard"]), question_ids, vectors_QD, source["depth"])
    return with_keys(hits, source["keys"], schemas.HITS)


def with_keys(rows: pa.Table, keys: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """Return `rows` with the partition's keys as columns, in the order of `schema`."""
    columns = [
        pa.array([keys[field.name]] * rows.num_rows, field.type) if field.name in keys else rows[field.name]
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def merge(lake: Lake, task: PartTask) -> pa.Table:
    """Merge the hits of one corpus's questions under one strategy into rankings with the rank of the gold chunk."""
    source = task.source
    pairs = pa.concat_tables([lake.read_parquet(path, ["question_id", "chunk_id"]) for path in source["pairs"]])
    hits = pa.concat_tables([lake.read_parquet(path) for path in source["hits"]])
    own = hits.filter(pc.is_in(hits["question_id"], value_set=pairs["question_id"].combine_chunks()))
    merged = merge_hits(own, source["depth"])
    gold = dict(zip(pairs["question_id"].to_pylist(), pairs["chunk_id"].to_pylist(), strict=True))
    merged = merged.append_column(
        "gold_chunk_id", pa.array([gold[question] for question in merged["question_id"].to_pylist()], schemas.ID)
    ).append_column("gold_rank", rank_of(gold, merged))
    return with_keys(merged, source["keys"], schemas.RANKINGS)


def _search_work(context: RunContext, cell: Cell) -> Work:
    plan = context.plan
    model, corpus, size = cell.keys["model"], str(cell.keys["corpus"]), cell.keys["chunk_size"]
    shards = context.partition(plan.find("shards", model=model, corpus=corpus, chunk_size=size))
    vectors = [
        context.partition(plan.find("vectors", model=model, kind="question", corpus=asker, chunk_size=size))
        for asker in asking_corpora(plan, corpus)
    ]
    questions = [f"{partition.path}/{file.name}" for partition in vectors for file in partition.files if file.num_rows]
    source = {
        "keys": dict(cell.keys),
        "shards": shards.path,
        "questions": questions,
        "depth": context.config.retrieve.depth,
    }
    num_questions = sum(partition.num_rows for partition in vectors)
    files = [file for file in shards.files if file.num_rows]
    tasks = [
        PartTask(cell.fingerprint, shard, {**source, "shard": shard}, num_questions) for shard in range(len(files))
    ]
    return Work(cell, tasks if num_questions else [])


def _merge_work(context: RunContext, cell: Cell) -> Work:
    plan = context.plan
    corpus, strategy = str(cell.keys["corpus"]), str(cell.keys["strategy"])
    pairs = context.partition(plan.find("pairs", corpus=corpus, chunk_size=cell.keys["chunk_size"]))
    hits = [
        context.partition(
            plan.find("hits", model=cell.keys["model"], corpus=answerer, chunk_size=cell.keys["chunk_size"])
        )
        for answerer in answering_corpora(plan, corpus, strategy)
    ]
    source = {
        "keys": dict(cell.keys),
        "pairs": [f"{pairs.path}/{file.name}" for file in pairs.files],
        "hits": [f"{partition.path}/{file.name}" for partition in hits for file in partition.files],
        "depth": context.config.retrieve.depth,
    }
    return Work(cell, [PartTask(cell.fingerprint, 0, source, pairs.num_rows)] if pairs.num_rows else [])


def run(context: RunContext, cells: list[Cell]) -> None:
    """Search the shards of every stale cell, then merge."""
    hits = [_search_work(context, cell) for cell in cells if cell.table == "hits"]
    run_parts(context, hits, search, label="retrieve", unit="questions", empty=schemas.HITS)
    rankings = [_merge_work(context, cell) for cell in cells if cell.table == "rankings"]
    run_parts(context, rankings, merge, label="retrieve merge", unit="questions", empty=schemas.RANKINGS)


STAGE = Stage(
    "retrieve", reads=("shards", "vectors", "pairs"), writes=("hits", "rankings"), version=1, cells=cells, run=run
)
