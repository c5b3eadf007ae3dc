"""Stage `pairs`: chunks -> candidates -> pairs, wave by wave until each cell's quota is reached.

Chunks are tried in a seeded hash order, in batches cut from that order by the plan, so that the same chunks meet in the
same batch at any parallelism and after any interruption. Every batch's replies are kept in the lake under a fingerprint
that leaves the quota out: a rerun, or a larger quota, reuses them. The engines are plain actors that live for the whole
stage: an actor pool of Ray Data would load the models again for every wave.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray
import ray.data

from teleembed_ray import ids, schemas
from teleembed_ray.config import ActorConfig, LlmConfig, ValidatorConfig
from teleembed_ray.errors import ConfigError
from teleembed_ray.lake import File, Lake, Partition
from teleembed_ray.llm.protocol import Sampling
from teleembed_ray.models import ModelSource
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage, make_cell
from teleembed_ray.questions.kernel import few_shot_habit, generate_table, select_pairs, validate_table
from teleembed_ray.questions.prompts import PROMPT_VERSION
from teleembed_ray.stages.parts import TASK, PartTask, publish, receipt, single_task

# Before anything is judged, every chunk is taken to give a pair, with the weight of this many chunks: the first wave is
# as small as it can be, and waste more costly than one more wave.
PRIOR_CHUNKS = 8.0

TableFunction = Callable[[pa.Table], pa.Table]


def cells(plan: Plan) -> list[Cell]:
    """Candidates and pairs: one cell each a corpus and chunk size."""
    found = []
    for corpus in plan.config.corpora:
        for size in plan.config.chunk.sizes:
            keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": size}
            replies = replies_cell(plan, corpus, size)
            quota = {"per_cell": plan.config.pairs.per_cell}
            candidates = STAGE.cell("candidates", keys, {**replies.settings, **quota}, [replies.fingerprint])
            found += [candidates, STAGE.cell("pairs", keys, candidates.settings, [candidates.fingerprint])]
    return found


def replies_cell(plan: Plan, corpus: str, size: int) -> Cell:
    """The replies behind a cell, whatever its quota: they stay in the lake, and only ever grow."""
    pairs = plan.config.pairs
    settings = {
        "generator": pairs.generator.shaping_values(),
        "generator_revision": plan.generator.revision,
        "validator": pairs.validator.shaping_values(),
        "validator_revision": plan.validator.revision,
        "batch_size": pairs.batch_size,
        "max_chunk_chars": pairs.max_chunk_chars,
        "prompt_version": PROMPT_VERSION,
        "seed": plan.config.seed,
    }
    chunks = plan.find("chunks", corpus=corpus, chunk_size=size)
    keys: dict[str, str | int] = {"corpus": corpus, "chunk_size": size}
    return make_cell(STAGE.name, STAGE.version, "candidates", keys, settings, ["replies", chunks.fingerprint])


@dataclass
class Pool:
    """The chunks of one cell in hash order, cut into batches, and what is known of each batch."""

    corpus: str
    size: int
    fingerprint: str
    chunks: Partition
    chunk_ids: list[str]
    batch_size: int
    quota: int
    accepted: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def num_batches(self) -> int:
        """Batches in the whole pool."""
        return math.ceil(len(self.chunk_ids) / self.batch_size)

    @property
    def num_done(self) -> int:
        """Batches done without a gap from the start of the order."""
        return next((batch for batch in range(self.num_batches) if batch not in self.accepted), self.num_batches)

    @property
    def num_accepted(self) -> int:
        """Pairs accepted in the batches done without a gap."""
        return sum(self.accepted[batch] for batch in range(self.num_done))

    @property
    def is_closed(self) -> bool:
        """Whether the quota is reached or the pool is exhausted."""
        return self.num_accepted >= self.quota or self.num_done == self.num_batches

    def batch(self, index: int) -> list[str]:
        """Chunk ids of one batch."""
        return self.chunk_ids[index * self.batch_size : (index + 1) * self.batch_size]

    def wave(self) -> list[int]:
        """The batches to judge next: as many as the acceptance rate so far says are needed, and no more."""
        if self.is_closed:
            return []
        judged = min(self.num_done * self.batch_size, len(self.chunk_ids))
        rate = (self.num_accepted + PRIOR_CHUNKS) / (judged + PRIOR_CHUNKS)
        num_batches = math.ceil((self.quota - self.num_accepted) / rate / self.batch_size)
        ahead = range(self.num_done, min(self.num_done + num_batches, self.num_batches))
        return [batch for batch in ahead if batch not in self.accepted]


def open_pool(context: RunContext, corpus: str, size: int) -> Pool:
    """Order the chunks of a cell and look up which batches an earlier run judged."""
    replies = replies_cell(context.plan, corpus, size)
    chunks = context.partition(context.plan.find("chunks", corpus=corpus, chunk_size=size))
    chunk_ids = context.lake.read(chunks, ["chunk_id"])["chunk_id"].to_pylist() if chunks.num_rows else []
    chunk_ids.sort(key=partial(ids.seeded_order, context.config.seed))
    pairs = context.config.pairs
    pool = Pool(corpus, size, replies.fingerprint, chunks, chunk_ids, pairs.batch_size, pairs.per_cell)
    for batch in context.lake.parts_done(pool.fingerprint):
        accepted = context.lake.read_under_way(pool.fingerprint, batch)["accepted"]
        pool.accepted[batch] = pc.sum(accepted.cast(pa.int64())).as_py() or 0
    return pool


def read_batches(lake: Lake, pool: Pool, batches: Sequence[int]) -> list[pa.Table]:
    """Read the chunks of some batches in one pass over the partition, each batch in hash order."""
    wanted = pa.array([chunk_id for batch in batches for chunk_id in pool.batch(batch)], schemas.ID)
    found = []
    for file in pool.chunks.files:
        part = lake.read_part(pool.chunks, file.name)
        found.append(part.filter(pc.is_in(part["chunk_id"], value_set=wanted)))
    rows = pa.concat_tables(found).combine_chunks()
    row_of = {chunk_id: row for row, chunk_id in enumerate(rows["chunk_id"].to_pylist())}
    return [rows.take([row_of[chunk_id] for chunk_id in pool.batch(batch)]) for batch in batches]


def sampling_of(config: LlmConfig, seed: int) -> Sampling:
    """Return how a model's replies are drawn."""
    return Sampling(config.max_tokens, config.temperature, config.top_p, seed)


def make_generator(source: ModelSource, config: LlmConfig, seed: int, max_chunk_chars: int | None) -> TableFunction:
    """Load the generator and return chunks -> questions."""
    # Imported here, so that a run which finds all pairs done does not wait for torch.
    from teleembed_ray.llm.engines import load_engine

    engine = load_engine(config.engine, source.locate(), source.name, config)
    return partial(
        generate_table,
        engine=engine,
        sampling=sampling_of(config, seed),
        max_chunk_chars=max_chunk_chars,
    )


def make_validator(source: ModelSource, config: ValidatorConfig, seed: int) -> TableFunction:
    """Load the validator and return questions -> candidates."""
    from teleembed_ray.llm.engines import load_engine

    engine = load_engine(config.engine, source.locate(), source.name, config)
    habit = few_shot_habit(engine) if config.style == "few_shot" else None
    return partial(
        validate_table,
        engine=engine,
        style=config.style,
        sampling=sampling_of(config, seed),
        habit=habit,
    )


class EngineActor:
    """An engine that lives as long as the stage; one that cannot be loaded says why, and dies of no traceback."""

    def __init__(self, make: Callable[[], TableFunction]) -> None:
        self.problem: str | None = None
        try:
            self.function = make()
        except ConfigError as error:
            self.problem = str(error)

    def why_not_ready(self) -> str | None:
        """Return what keeps the engine from being used, or None."""
        return self.problem

    def apply(self, rows: pa.Table) -> pa.Table:
        """Pass one batch through the engine."""
        if self.problem is not None:
            # A restarted actor may find what was there before gone.
            raise ConfigError(self.problem)
        return self.function(rows)


def start_actors(name: str, make: Callable[[], TableFunction], config: ActorConfig) -> list[Any]:
    """Start the actors of one engine; Ray restarts one that dies and runs its batch again."""
    actor_class = ray.remote(num_cpus=config.num_cpus, num_gpus=config.num_gpus, max_restarts=3, max_task_retries=3)(
        type(name, (EngineActor,), {})
    )
    return [actor_class.remote(make) for _ in range(config.num_actors)]


def _read_op(blocks: Sequence[Any]) -> Any:
    """Fetch a batch that the driver has put into the object store."""

    def op(batch: pa.Table) -> pa.Table:
        return ray.get(blocks[batch["index"][0].as_py()])

    op.__name__ = "pairs_read"
    return op


def _engine_op(name: str, actors: Sequence[Any]) -> Any:
    """Pass a batch to one of the engine's actors, chosen by the batch's number."""

    def op(batch: pa.Table) -> pa.Table:
        index, rows = single_task(batch)
        out = ray.get(actors[index % len(actors)].apply.remote(rows))
        return out.append_column(TASK, pa.array([index] * out.num_rows, pa.int32()))

    op.__name__ = name
    return op


def _write_op(lake: Lake, tasks: Sequence[PartTask]) -> Any:
    def op(batch: pa.Table) -> pa.Table:
        index, rows = single_task(batch)
        task = tasks[index]
        if rows.num_rows != task.num_rows:
            raise RuntimeError(f"{task.num_rows} chunks went into a batch and {rows.num_rows} candidates came out")
        file = lake.write_part(task.fingerprint, task.part, rows.select(schemas.CANDIDATES.names))
        accepted = pc.sum(rows["accepted"].cast(pa.int64())).as_py() or 0
        return receipt(index, [file], 0.0).append_column("accepted", pa.array([accepted]))

    op.__name__ = "pairs_write"
    return op


def run_wave(
    context: RunContext, pools: Sequence[Pool], generators: list[Any], validators: list[Any], show: Any
) -> None:
    """Judge the next batches of every open pool in one streaming pass: read, generate, validate, write."""
    tasks: list[PartTask] = []
    owners: list[Pool] = []
    blocks: list[pa.Table] = []
    for pool in pools:
        batches = pool.wave()
        for batch, rows in zip(batches, read_batches(context.lake, pool, batches) if batches else [], strict=True):
            blocks.append(rows.append_column(TASK, pa.array([len(tasks)] * rows.num_rows, pa.int32())))
            tasks.append(PartTask(pool.fingerprint, batch, None, rows.num_rows))
            owners.append(pool)
    show.grow(sum(task.num_rows for task in tasks))
    # The tasks only wait for the engines, so they take next to no CPU; two an actor keep each of them busy.
    blocks_args = {"batch_size": None, "batch_format": "pyarrow", "zero_copy_batch": True, "num_cpus": 0.01}
    # Not from_arrow: it waits for a task that wants a whole CPU, which for ever is not there beside enough engines.
    dataset = ray.data.from_items([{"index": index} for index in range(len(blocks))], override_num_blocks=len(blocks))
    dataset.set_name("pairs")
    dataset = dataset.map_batches(_read_op([ray.put(block) for block in blocks]), **blocks_args)
    for name, actors in (("pairs_generate", generators), ("pairs_validate", validators)):
        dataset = dataset.map_batches(
            _engine_op(name, actors),
            compute=ray.data.TaskPoolStrategy(size=min(2 * len(actors), len(blocks))),
            **blocks_args,
        )
    dataset = dataset.map_batches(_write_op(context.lake, tasks), **blocks_args)
    started = time.monotonic()
    for row in dataset.iter_rows():
        task, pool = tasks[row["index"]], owners[row["index"]]
        pool.accepted[task.part] = row["accepted"]
        show.advance(task.num_rows)
    # The cells of a wave share the engines, so each gets its share of the wave's time by its number of tokens.
    seconds = time.monotonic() - started
    weights = [task.num_rows * pool.size for task, pool in zip(tasks, owners, strict=True)]
    for weight, pool in zip(weights, owners, strict=True):
        pool.seconds += seconds * weight / sum(weights)


def close(context: RunContext, pool: Pool, candidates_cell: Cell, pairs_cell: Cell) -> None:
    """Publish a cell: the candidates up to the one that fills the quota, and the pairs among them."""
    lake = context.lake
    parts = [lake.read_under_way(pool.fingerprint, batch) for batch in range(pool.num_done)]
    judged = pa.concat_tables([schemas.CANDIDATES.empty_table(), *parts]).combine_chunks()
    running = pc.cumulative_sum(judged["accepted"].cast(pa.int64()))
    # What lies behind the last pair was judged ahead of need; it differs with the waves, so it is no result.
    is_needed = pc.less(pc.subtract(running, judged["accepted"].cast(pa.int64())), pool.quota)
    candidates = judged.filter(is_needed)
    accepted_ids = candidates.filter(candidates["accepted"])["chunk_id"]
    columns = ["chunk_id", "text", "num_tokens"]
    chunks = [
        part.filter(pc.is_in(part["chunk_id"], value_set=accepted_ids.combine_chunks()))
        for part in (lake.read_part(pool.chunks, file.name, columns) for file in pool.chunks.files)
    ]
    empty = schemas.CHUNKS.empty_table().select(columns)
    pairs = select_pairs(candidates, pa.concat_tables([empty, *chunks]), pool.quota, context.config.seed)
    outcome = {
        "per_cell": pool.quota,
        "num_candidates": candidates.num_rows,
        "exhausted": pairs.num_rows < pool.quota,
        "pool_chunks": len(pool.chunk_ids),
    }
    for cell, rows in ((candidates_cell, candidates), (pairs_cell, pairs)):
        file: File = lake.write_part(cell.fingerprint, 0, rows)
        publish(context, cell, [file], pool.seconds, **outcome)
    if pairs.num_rows < pool.quota:
        counts = sorted(
            json.loads(json.dumps(pc.value_counts(candidates["verdict"]).to_pylist())),
            key=lambda item: (-item["counts"], item["values"]),
        )
        reasons = ", ".join(f"{item['counts']} {item['values']}" for item in counts) or "the cell has no chunk"
        context.progress.note(
            f"pairs: {pool.corpus} at {pool.size} tokens: the pool of {len(pool.chunk_ids)} chunks ran out with "
            f"{pairs.num_rows} of {pool.quota} pairs ({reasons})"
        )


def run(context: RunContext, cells: list[Cell]) -> None:
    """Fill the quota of every stale cell."""
    plan, pairs, resources = context.plan, context.config.pairs, context.config.resources
    wanted = {(str(cell.keys["corpus"]), int(cell.keys["chunk_size"])) for cell in cells}
    pools = [open_pool(context, corpus, size) for corpus, size in sorted(wanted)]

    def close_done(opened: list[Pool]) -> list[Pool]:
        for pool in opened:
            if pool.is_closed:
                keys: dict[str, str | int] = {"corpus": pool.corpus, "chunk_size": pool.size}
                close(context, pool, plan.find("candidates", **keys), plan.find("pairs", **keys))
        return [pool for pool in opened if not pool.is_closed]

    pools = close_done(pools)
    if not pools:
        return
    seed = context.config.seed
    make = partial(make_generator, plan.generator, pairs.generator, seed, pairs.max_chunk_chars)
    generators = start_actors("Generator", make, resources.generator)
    make = partial(make_validator, plan.validator, pairs.validator, seed)
    validators = start_actors("Validator", make, resources.validator)
    for problem in ray.get([actor.why_not_ready.remote() for actor in (*generators, *validators)]):
        if problem is not None:
            raise ConfigError(problem)
    with context.progress.task("pairs", 0, "candidates") as show:
        while pools:
            run_wave(context, pools, generators, validators, show)
            pools = close_done(pools)
    # Named here so that the actors, and the memory of their models, are gone before the next stage.
    for actor in (*generators, *validators):
        ray.kill(actor)


STAGE = Stage("pairs", reads=("chunks",), writes=("candidates", "pairs"), version=3, cells=cells, run=run)
