"""The stages, in the order in which they run."""

from teleembed_ray.pipeline import Stage
from teleembed_ray.stages import audit, chunk, embed, evaluate, index, ingest, pairs, report, retrieve

STAGES: tuple[Stage, ...] = (
    ingest.STAGE,
    chunk.STAGE,
    pairs.STAGE,
    embed.STAGE,
    index.STAGE,
    retrieve.STAGE,
    audit.STAGE,
    evaluate.STAGE,
    report.STAGE,
)
