"""What a run will cost: rows, tokens and seconds of each stage, before it runs.

Rows that are in the lake are counted; the others are estimated from the files' sizes. Time is arithmetic over speed: a
transformer spends two operations a parameter and token, and the speed of this machine is measured by a short matrix
product. It is an estimate to plan with, right within a factor of about two, and it says what it assumes.
"""

import os
import re
import time
from dataclasses import dataclass
from pathlib import PurePosixPath

from teleembed_ray.config import ActorConfig, LlmConfig
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import Cell, Plan, state

# Characters of text in a byte of file, by format, as met in 3GPP and O-RAN specifications.
CHARS_PER_BYTE = {".docx": 0.5, ".docm": 0.5, ".doc": 0.15, ".zip": 0.5, ".pdf": 0.15}
CHARS_PER_TOKEN = 4.2
# A chunk ends at a separator, so on average it fills this share of its size.
CHUNK_FILL = 0.75
# Share of candidates that become pairs, until a run has shown its own.
ACCEPTANCE = 0.5
# Tokens of a prompt beside the chunk; tokens of a question.
PROMPT_TOKENS = {"generator": 350, "validator": 550}
QUESTION_TOKENS = 30
# Half precision on a data-centre GPU, at the share of its peak that inference reaches.
GPU_FLOPS = 1e14
# Bytes that the readers get through in a second on one core.
INGEST_BYTES_PER_S = 1.5e6
CHUNK_TOKENS_PER_S = 1e6
AUDIT_TOKENS_PER_S = 5e5
# Share of a large matrix product's speed that a small transformer reaches on a CPU; units for half precision are fast
# enough that everything beside the product counts.
CPU_EFFICIENCY = {"float32": 0.5, "bfloat16": 0.15, "float16": 0.15}


@dataclass(frozen=True)
class Estimate:
    """Rows that a stage will write, model tokens that it will read or write, and seconds."""

    rows: int
    tokens: int
    seconds: float


def measured_cpu_flops(dtype: str) -> float:
    """Floating-point operations a second of a matrix product of this type on one thread here."""
    import torch

    torch.set_num_threads(1)
    a = torch.ones(512, 1024, dtype=getattr(torch, dtype))
    b = torch.ones(1024, 1024, dtype=getattr(torch, dtype))
    speeds = []
    for _ in range(4):
        started = time.perf_counter()
        for _ in range(4):
            a @ b
        speeds.append(4 * 2.0 * 512 * 1024 * 1024 / (time.perf_counter() - started))
    # The best of several: what else runs here at this moment says nothing about the run.
    return max(speeds)


def num_parameters(name: str) -> float:
    """Parameters of a language model as its name tells them (135M, 0.6B, 14b); 1e9 where it does not."""
    match = re.search(r"(\d+(?:\.\d+)?)\s*([mb])(?![a-z])", name.lower())
    return float(match[1]) * (1e6 if match[2] == "m" else 1e9) if match else 1e9


def _tokens_of(plan: Plan, corpus: str) -> float:
    """Tokens of a corpus, from the sizes of its files."""
    return sum(
        file.num_bytes * CHARS_PER_BYTE.get(PurePosixPath(file.path).suffix.lower(), 1.0) / CHARS_PER_TOKEN
        for file in plan.listings[corpus].files
    )


def _num_chunks(plan: Plan, lake: Lake, corpus: str, size: int) -> int:
    """Chunks of a cell: counted where the lake has them, else estimated."""
    cell = plan.find("chunks", corpus=corpus, chunk_size=size)
    partition = lake.partition(cell.table, cell.keys)
    if partition is not None and partition.manifest["fingerprint"] == cell.fingerprint:
        return partition.num_rows
    overlap = plan.config.chunk.overlap
    return round(_tokens_of(plan, corpus) / max(size * CHUNK_FILL - overlap, 1))


def _num_pairs(plan: Plan, lake: Lake, corpus: str, size: int) -> int:
    cell = plan.find("pairs", corpus=corpus, chunk_size=size)
    partition = lake.partition(cell.table, cell.keys)
    if partition is not None and partition.manifest["fingerprint"] == cell.fingerprint:
        return partition.num_rows
    return min(plan.config.pairs.per_cell, round(_num_chunks(plan, lake, corpus, size) * ACCEPTANCE))


def _llm_flops(llm: LlmConfig, actors: ActorConfig, cpu_flops: dict[str, float]) -> float:
    """Operations a second of a language model; what an endpoint runs on is not known, so one GPU is assumed."""
    return GPU_FLOPS if llm.engine == "openai" else _flops(actors, llm.threads, llm.dtype, cpu_flops)


def _flops(actors: ActorConfig, threads: int, dtype: str, cpu_flops: dict[str, float]) -> float:
    """Operations a second that all actors of one model reach together."""
    if actors.num_gpus:
        return GPU_FLOPS * actors.num_gpus * actors.num_actors
    cores = min(threads * actors.num_actors, os.cpu_count() or 1)
    return cpu_flops[dtype] * CPU_EFFICIENCY[dtype] * cores


def _ingest(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    files = [file for cell in cells for file in plan.listings[str(cell.keys["corpus"])].files]
    return Estimate(len(files), 0, sum(file.num_bytes for file in files) / INGEST_BYTES_PER_S)


def _chunk(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    rows = sum(_num_chunks(plan, lake, str(cell.keys["corpus"]), int(cell.keys["chunk_size"])) for cell in cells)
    tokens = sum(_tokens_of(plan, str(cell.keys["corpus"])) for cell in cells)
    return Estimate(rows, 0, tokens / CHUNK_TOKENS_PER_S)


def _pairs(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    config, resources = plan.config, plan.config.resources
    rows = tokens = 0
    seconds = 0.0
    for cell in (cell for cell in cells if cell.table == "pairs"):
        size = int(cell.keys["chunk_size"])
        num_pairs = _num_pairs(plan, lake, str(cell.keys["corpus"]), size)
        rows += num_pairs
        for role, llm, actors in (
            ("generator", config.pairs.generator, resources.generator),
            ("validator", config.pairs.validator, resources.validator),
        ):
            cost = round(num_pairs / ACCEPTANCE * (size * CHUNK_FILL + PROMPT_TOKENS[role] + QUESTION_TOKENS))
            tokens += cost
            seconds += 2 * num_parameters(llm.model) * cost / _llm_flops(llm, actors, cpu_flops)
    return Estimate(rows, tokens, seconds)


def _embed(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    config, actors = plan.config, plan.config.resources.embed
    rows = tokens = 0
    seconds = 0.0
    for cell in cells:
        corpus, size = str(cell.keys["corpus"]), int(cell.keys["chunk_size"])
        card = plan.encoders[str(cell.keys["model"])].card
        is_chunk = cell.keys["kind"] == "chunk"
        num_texts = (_num_chunks if is_chunk else _num_pairs)(plan, lake, corpus, size)
        cost = round(num_texts * (min(size * CHUNK_FILL, card.max_tokens) if is_chunk else QUESTION_TOKENS))
        rows += num_texts
        tokens += cost
        seconds += 2 * card.num_parameters * cost / _flops(actors, config.embed.threads, card.dtype, cpu_flops)
    return Estimate(rows, tokens, seconds)


def _index(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    rows = sum(_num_chunks(plan, lake, str(cell.keys["corpus"]), int(cell.keys["chunk_size"])) for cell in cells)
    return Estimate(rows, 0, rows / 50_000)


def _retrieve(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    rows = 0
    seconds = 0.0
    for cell in (cell for cell in cells if cell.table == "rankings"):
        corpus, size = str(cell.keys["corpus"]), int(cell.keys["chunk_size"])
        num_questions = _num_pairs(plan, lake, corpus, size)
        corpora = plan.config.corpora if cell.keys["strategy"] == "C" else [corpus]
        num_chunks = sum(_num_chunks(plan, lake, name, size) for name in corpora)
        num_dims = plan.encoders[str(cell.keys["model"])].card.num_dims
        rows += num_questions
        seconds += 2 * num_questions * num_chunks * num_dims / (cpu_flops["float32"] * CPU_EFFICIENCY["float32"])
    return Estimate(rows, 0, seconds)


def _audit(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    sizes = [int(cell.keys["chunk_size"]) for cell in cells if cell.table == "sketches"]
    corpora = [str(cell.keys["corpus"]) for cell in cells if cell.table == "sketches"]
    rows = sum(_num_chunks(plan, lake, corpus, size) for corpus, size in zip(corpora, sizes, strict=True))
    return Estimate(rows, 0, sum(_tokens_of(plan, corpus) for corpus in corpora) / AUDIT_TOKENS_PER_S)


def _small(plan: Plan, lake: Lake, cells: list[Cell], cpu_flops: dict[str, float]) -> Estimate:
    return Estimate(0, 0, float(len(cells)) * 0.5)


ESTIMATES = {
    "ingest": _ingest,
    "chunk": _chunk,
    "pairs": _pairs,
    "embed": _embed,
    "index": _index,
    "retrieve": _retrieve,
    "audit": _audit,
    "evaluate": _small,
    "report": _small,
}


def estimate(plan: Plan, lake: Lake) -> dict[str, tuple[list[Cell], Estimate]]:
    """Return, for each stage, the cells that would run and what they would cost."""
    cpu_flops = {dtype: measured_cpu_flops(dtype) for dtype in CPU_EFFICIENCY}
    result = {}
    for stage, cells in plan.cells.items():
        stale = [cell for cell in cells if state(lake, cell) != "done"]
        result[stage] = (stale, ESTIMATES[stage](plan, lake, stale, cpu_flops))
    return result
