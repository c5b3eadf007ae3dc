"""Stage `retrieve`: questions against shards -> hits, and hits merged -> rankings.

Each shard is searched once with every question that may ask it. Strategy A merges the hits of the shards of the
question's own corpus, Strategy C those of all corpora: the merged index is a view and costs no second index.
"""

import pyarrow as pa
import pyarrow.compute as pc

from teleembed_ray import schemas
from teleembed_ray.index.merge import merge_hits, ranks_of
from teleembed_ray.index.search import search_shard
from teleembed_ray.index.shard import shard_from_bytes
from teleembed_ray.lake import Lake, part_name
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.index import vectors_CD
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
    ids = lake.read_parquet(f"{source['shards']}/{part_name(source['shard'])}", ["chunk_id"])["chunk_id"].to_pylist()
    shard = shard_from_bytes(ids, lake.read_bytes(f"{source['shards']}/{part_name(source['shard'], 'faiss')}"))
    questions = pa.concat_tables([lake.read_parquet(path, ["id", "vector"]) for path in source["questions"]])
    chunk_ids, scores = search_shard(shard, vectors_CD(questions["vector"]), source["depth"])
    num_rows = questions.num_rows
    return pa.table(
        {
            "model": pa.array([source["keys"]["model"]] * num_rows, pa.string()),
            "corpus": pa.array([source["keys"]["corpus"]] * num_rows, pa.string()),
            "chunk_size": pa.array([source["keys"]["chunk_size"]] * num_rows, pa.int32()),
            "shard": pa.array([source["shard"]] * num_rows, pa.int32()),
            "question_id": questions["id"],
            "chunk_ids": pa.array(list(chunk_ids), pa.list_(schemas.ID)),
            "scores": pa.array(list(scores), pa.list_(pa.float32())),
        },
        schema=schemas.HITS,
    )


def merge(lake: Lake, task: PartTask) -> pa.Table:
    """Merge the hits of one corpus's questions under one strategy into rankings with the rank of the gold chunk."""
    source = task.source
    pairs = pa.concat_tables([lake.read_parquet(path, ["question_id", "chunk_id"]) for path in source["pairs"]])
    hits = pa.concat_tables([lake.read_parquet(path) for path in source["hits"]])
    own = hits.filter(pc.is_in(hits["question_id"], value_set=pairs["question_id"].combine_chunks()))
    merged = merge_hits(own, source["depth"])
    gold = dict(zip(pairs["question_id"].to_pylist(), pairs["chunk_id"].to_pylist(), strict=True))
    gold_ids = [gold[question] for question in merged["question_id"].to_pylist()]
    num_rows = merged.num_rows
    return pa.table(
        {
            "model": pa.array([source["keys"]["model"]] * num_rows, pa.string()),
            "corpus": pa.array([source["keys"]["corpus"]] * num_rows, pa.string()),
            "chunk_size": pa.array([source["keys"]["chunk_size"]] * num_rows, pa.int32()),
            "strategy": pa.array([source["keys"]["strategy"]] * num_rows, pa.string()),
            "question_id": merged["question_id"],
            "gold_chunk_id": pa.array(gold_ids, schemas.ID),
            "gold_rank": pa.array(ranks_of(gold_ids, merged), pa.int32()),
            "chunk_ids": merged["chunk_ids"],
            "scores": merged["scores"],
        },
        schema=schemas.RANKINGS,
    )


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
