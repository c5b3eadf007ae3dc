"""Stage `evaluate`: rankings -> scores, one cell a model and chunk size (the macro mean spans the corpora)."""

import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.lake import Lake
from teleembed_ray.metrics.kernel import scores_table
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.parts import PartTask, Work, run_parts

RANKING_COLUMNS = ["model", "corpus", "chunk_size", "strategy", "question_id", "gold_chunk_id", "gold_rank"]


def cells(plan: Plan) -> list[Cell]:
    """One cell a model and chunk size."""
    evaluate = plan.config.evaluate
    return [
        STAGE.cell(
            "scores",
            {"model": model, "chunk_size": size},
            {"confidence": evaluate.confidence, "num_resamples": evaluate.num_resamples, "seed": plan.config.seed},
            [
                *(cell.fingerprint for cell in plan.select("pairs", chunk_size=size)),
                *(cell.fingerprint for cell in plan.select("rankings", model=model, chunk_size=size)),
            ],
        )
        for model in plan.encoders
        for size in plan.config.chunk.sizes
    ]


def score(lake: Lake, task: PartTask) -> pa.Table:
    """Score one model at one chunk size."""
    source = task.source
    rankings = pa.concat_tables([lake.read_parquet(path, RANKING_COLUMNS) for path in source["rankings"]])
    pairs = pa.concat_tables([lake.read_parquet(path, ["question_id", "corpus", "clean"]) for path in source["pairs"]])
    return scores_table(
        rankings,
        pairs,
        model=source["keys"]["model"],
        chunk_size=source["keys"]["chunk_size"],
        corpora=source["corpora"],
        strategies=source["strategies"],
        seed=source["settings"]["seed"],
        confidence=source["settings"]["confidence"],
        num_resamples=source["settings"]["num_resamples"],
    )


def run(context: RunContext, cells: list[Cell]) -> None:
    """Score every stale cell."""
    works = []
    for cell in cells:
        model, size = cell.keys["model"], cell.keys["chunk_size"]
        pairs = [context.partition(found) for found in context.plan.select("pairs", chunk_size=size)]
        rankings = [context.partition(found) for found in context.plan.select("rankings", model=model, chunk_size=size)]
        source = {
            "keys": dict(cell.keys),
            "settings": cell.settings,
            "corpora": list(context.config.corpora),
            "strategies": list(context.config.retrieve.strategies),
            "pairs": [f"{partition.path}/{file.name}" for partition in pairs for file in partition.files],
            "rankings": [f"{partition.path}/{file.name}" for partition in rankings for file in partition.files],
        }
        num_rows = sum(partition.num_rows for partition in rankings)
        works.append(Work(cell, [PartTask(cell.fingerprint, 0, source, num_rows)]))
    run_parts(context, works, score, label="evaluate", unit="rankings", empty=schemas.SCORES)


STAGE = Stage("evaluate", reads=("rankings", "pairs"), writes=("scores",), version=1, cells=cells, run=run)
