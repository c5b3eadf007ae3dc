"""Wall time of the whole pipeline on Ray against the sum of its bare kernels on the same rows.

    make bench NAME=pipeline [DOCUMENTS=6] [ROUNDS=3]

Both sides read the same demo corpus and write the same documents, chunks, candidates (one a chunk that the pipeline
tried, in the same batches), vectors, rankings and audits. The bare side is one process that calls the kernels part by
part on all cores, without Ray, lake or receipts; its time starts when all is imported and ends with the last kernel,
loading of models included. It runs each language model on all cores where an actor of the pipeline has one, so the
texts of their replies may differ in a word; how many rows there are does not. The pipeline's time is that of
`teleembed run` as a user meets it: interpreter start, Ray start, every stage, the page. Rounds are interleaved and
medians compared.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import torch

from teleembed_ray import ids, schemas
from teleembed_ray.audit.audits import audits_table
from teleembed_ray.audit.languages import languages_table
from teleembed_ray.audit.shingles import shingles
from teleembed_ray.audit.sketches import sketches_table
from teleembed_ray.audit.twins import twins_table
from teleembed_ray.chunking.kernel import chunk_table, size_window
from teleembed_ray.chunking.separators import KEEP_SEPARATOR, SEPARATORS
from teleembed_ray.config import AuditConfig
from teleembed_ray.documents.kernel import documents_table
from teleembed_ray.embedding.encoder import load_encoder
from teleembed_ray.embedding.kernel import embed_chunks_table, embed_questions_table
from teleembed_ray.index.merge import merge_hits
from teleembed_ray.index.search import hits_table
from teleembed_ray.index.shard import build_shard
from teleembed_ray.lake import Lake
from teleembed_ray.progress import Progress
from teleembed_ray.questions.kernel import select_pairs
from teleembed_ray.run import Run, prepare
from teleembed_ray.stages.index import as_matrix
from teleembed_ray.stages.ingest import cut
from teleembed_ray.stages.order import STAGES
from teleembed_ray.stages.pairs import make_generator, make_validator

CEILING = 1.25
LEAST_KERNEL_S = 180.0
ROOT = Path(__file__).parents[2]


def write_config(folder: Path, num_documents: int) -> Path:
    """Write the benchmark's configuration: the demo's models, one chunk size, more documents."""
    path = folder / "bench.yaml"
    path.write_text(
        f"""
lake: {folder}/lake
demo: {{folder: {folder}/documents, num_documents: {num_documents}}}
corpora:
  fronthaul: {{path: {folder}/documents/fronthaul}}
  core: {{path: {folder}/documents/core}}
  stack: {{path: {folder}/documents/stack, separators: code}}
chunk: {{sizes: [512]}}
pairs:
  per_cell: 24
  batch_size: 4
  max_chunk_chars: 1600
  generator: {{model: "embedded:SmolLM2-135M-Instruct", max_tokens: 40, dtype: bfloat16}}
  validator: {{model: "embedded:gemma-3-270m", style: few_shot, dtype: bfloat16}}
embed: {{models: [minilm, mpnet]}}
report: {{folder: {folder}/report}}
resources: {{generator: {{num_actors: {os.cpu_count()}}}, embed: {{num_actors: {os.cpu_count()}}}}}
"""
    )
    return path


def bare_kernels(config_path: Path, tried: set[str]) -> tuple[dict[str, float], int]:
    """Run every kernel in this process, the language models on the chunks `tried`; return seconds a step and chunks."""
    run = prepare(config_path, [], STAGES, Progress(), write=True)
    config, plan = run.config, run.plan
    seconds: dict[str, float] = {}
    started = time.monotonic()

    def lap(step: str) -> None:
        seconds[step] = time.monotonic() - started - sum(seconds.values())

    texts: dict[str, list[pa.Table]] = {}
    chunks: dict[str, list[pa.Table]] = {}
    for corpus, listing in plan.listings.items():
        kind = config.corpora[corpus].separators
        for files in cut(listing.files):
            rows = [
                {"corpus": corpus, "path": file.path, "data": (Path(listing.root) / file.path).read_bytes()}
                for file in files
            ]
            schema = pa.schema([("corpus", pa.string()), ("path", pa.string()), ("data", pa.large_binary())])
            documents = documents_table(pa.Table.from_pylist(rows, schema=schema))
            documents = documents.filter(pa.compute.is_null(documents["reason"]))
            made = chunk_table(documents, 512, 50, 0.5, 1.5, SEPARATORS[kind], KEEP_SEPARATOR[kind])
            texts.setdefault(corpus, []).append(documents)
            chunks.setdefault(corpus, []).append(made.filter(pa.compute.is_null(made["reason"])))
    lap("ingest, chunk")
    pairs_by_corpus = make_pairs(run, chunks, tried)
    lap("pairs")
    for source in plan.encoders.values():
        encoder = load_encoder(
            source.card, source.locate(), batch_tokens=config.embed.batch_tokens, threads=config.embed.threads
        )
        torch.set_num_threads(os.cpu_count() or 1)
        hits = []
        questions = {corpus: embed_questions_table(pairs, encoder) for corpus, pairs in pairs_by_corpus.items()}
        for parts in chunks.values():
            vectors = pa.concat_tables([embed_chunks_table(part, encoder) for part in parts])
            shard = build_shard(vectors["id"].to_pylist(), as_matrix(vectors["vector"]))
            hits += [
                hits_table(shard, "0", asked["id"].to_pylist(), as_matrix(asked["vector"]), 100)
                for asked in questions.values()
            ]
        merge_hits(pa.concat_tables(hits), 100)
        lap(f"embed, index, retrieve {source.card.name}")
    for corpus, parts in chunks.items():
        audit(config.audit, texts[corpus], pa.concat_tables(parts), corpus)
    lap("audit")
    return seconds, sum(part.num_rows for parts in chunks.values() for part in parts)


def audit(config: AuditConfig, documents: list[pa.Table], chunks: pa.Table, corpus: str) -> pa.Table:
    """Audit one corpus, as the stage does."""
    for part in documents:
        languages_table(part, config.min_language_confidence)
    sketches = sketches_table(chunks, config.shingle_words)
    text_of = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    twins = twins_table(
        sketches,
        lambda chunk_ids: {chunk_id: shingles(text_of[chunk_id], config.shingle_words) for chunk_id in chunk_ids},
        config.near_threshold,
    )
    rejects = schemas.REJECTS.empty_table()
    return audits_table(sketches, twins, rejects, corpus=corpus, chunk_size=512, window=size_window(512, 0.5, 1.5))


def make_pairs(run: Run, chunks: dict[str, list[pa.Table]], tried: set[str]) -> dict[str, pa.Table]:
    """Generate and validate batch by batch in hash order, as the stage does; exit where a tried chunk is missing."""
    config, plan = run.config, run.plan
    generate = make_generator(plan.generator, config.pairs.generator, config.seed, config.pairs.max_chunk_chars)
    validate = make_validator(plan.validator, config.pairs.validator, config.seed)
    torch.set_num_threads(os.cpu_count() or 1)
    result = {}
    num_judged = 0
    for corpus, parts in chunks.items():
        table = pa.concat_tables(parts)
        order = sorted(
            (row for row in range(table.num_rows) if table["chunk_id"][row].as_py() in tried),
            key=lambda row: ids.seeded_order(config.seed, table["chunk_id"][row].as_py()),
        )
        judged = [
            validate(generate(table.take(order[first : first + config.pairs.batch_size])))
            for first in range(0, len(order), config.pairs.batch_size)
        ]
        num_judged += len(order)
        result[corpus] = select_pairs(pa.concat_tables(judged), table, config.pairs.per_cell, config.seed)
    if num_judged != len(tried):
        sys.exit(f"pipeline: the two sides tried different chunks ({num_judged} and {len(tried)})")
    return result


def pipeline(config_path: Path) -> tuple[float, list[str]]:
    """Run `teleembed run` in a process of its own; return seconds, and what it says of its stages."""
    command = [sys.executable, "-m", "teleembed_ray.cli", "run", "--config", str(config_path)]
    started = time.monotonic()
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    seconds = time.monotonic() - started
    return seconds, [line for line in (done.stdout + done.stderr).splitlines() if ": done in " in line]


def main() -> None:
    """Compare and print the ratio; exit 1 above the ceiling, or where the kernels took too little to tell."""
    num_documents, rounds = int(os.environ.get("DOCUMENTS", "6")), int(os.environ.get("ROUNDS", "3"))
    bare, whole = [], []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            config_path = write_config(Path(folder), num_documents)
            seconds, stages = pipeline(config_path)
            whole.append(seconds)
            candidates = Lake(f"{folder}/lake").read_all("candidates")
            if candidates is None:
                sys.exit("pipeline: the run left no candidates")
            steps, num_chunks = bare_kernels(config_path, set(candidates["chunk_id"].to_pylist()))
            bare.append(sum(steps.values()))
        print(f"round {number}: {num_chunks} chunks, kernels {bare[-1]:.1f} s, pipeline {whole[-1]:.1f} s", flush=True)
        print("\n".join([*stages, *(f"bare {step}: {spent:.1f} s" for step, spent in steps.items())]), flush=True)
    ratio = statistics.median(whole) / statistics.median(bare)
    print(f"pipeline: ratio {ratio:.3f} (ceiling {CEILING})")
    if statistics.median(bare) < LEAST_KERNEL_S:
        sys.exit(f"pipeline: the kernels took {statistics.median(bare):.0f} s, too little to tell: raise DOCUMENTS")
    sys.exit(0 if ratio <= CEILING else 1)


if __name__ == "__main__":
    main()
