"""One run: configuration file -> plan -> Ray -> stages. The CLI and the jobs call this and nothing else."""

import os
import platform
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

import teleembed_ray
from teleembed_ray.config import RunConfig, load_config
from teleembed_ray.corpora import list_corpus, open_folder
from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.lake import Lake
from teleembed_ray.models import resolve_models
from teleembed_ray.pipeline import Plan, RunContext, Stage, run, select_stages
from teleembed_ray.progress import Progress

# What shapes results: recorded in every manifest.
RECORDED_PACKAGES = (
    "teleembed-ray", "ray", "torch", "transformers", "sentence-transformers", "faiss-cpu", "pyarrow", "numpy",
    "langchain-text-splitters", "bpe-openai", "lxml", "pypdfium2", "datasketch", "py3langid",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A configuration made ready: outputs anchored, lake opened, every cell known."""

    config: RunConfig
    lake: Lake
    plan: Plan


def is_submitted_job() -> bool:
    """Whether this process is the driver of a `ray job submit`, whose working folder is a temporary copy."""
    return "runtime_resources/working_dir_files" in Path.cwd().as_posix()


def anchored(path: str) -> str:
    """Return an output path that outlives the run; a URL stays as it is.

    A relative path is taken from the current folder. A submitted job runs in a temporary copy of that folder, which Ray
    deletes, so there it is taken from ~/teleembed.
    """
    if "://" in path:
        return path
    base = Path.home() / "teleembed" if is_submitted_job() else Path.cwd()
    return str((base / _expanded(path)).resolve())


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{path!r}: {error}") from None


def _with_anchored_outputs(config: RunConfig) -> RunConfig:
    demo = config.demo
    corpora = dict(config.corpora)
    if demo is not None:
        # The demo's documents are an output too: the corpora below that folder move along with it.
        folder = anchored(demo.folder)
        for name, corpus in corpora.items():
            if Path(demo.folder) in Path(corpus.path).parents:
                path = str(Path(folder) / Path(corpus.path).relative_to(demo.folder))
                corpora[name] = corpus.model_copy(update={"path": path})
        demo = demo.model_copy(update={"folder": folder})
    for name, corpus in corpora.items():
        if "://" not in corpus.path:
            path = str(_expanded(corpus.path).resolve())
            corpora[name] = corpus.model_copy(update={"path": path})
    report = config.report.model_copy(update={"folder": anchored(config.report.folder)})
    changes = {"lake": anchored(config.lake), "demo": demo, "corpora": corpora, "report": report}
    return config.model_copy(update=changes)


def prepare(path: Path, assignments: Sequence[str], stages: Sequence[Stage], progress: Progress, write: bool) -> Run:
    """Read and check everything that a run depends on; raises ConfigError before any work.

    With `write`, the lake's folder and the demo corpus are made; without, nothing is written.
    """
    config = _with_anchored_outputs(load_config(path, assignments))
    encoders, generator, validator = resolve_models(config, path)
    lake = Lake(config.lake)
    lake.check_usable()
    _check_folders(config, path)
    if config.demo is None:
        # Before the lake is made: a folder that is missing leaves nothing behind.
        for name, corpus in config.corpora.items():
            open_folder(str(path), name, corpus)
    if write:
        lake.create()
        if config.demo is not None:
            _write_demo(config, progress)
    listings = {
        name: list_corpus(str(path), name, corpus, lake, remember=write) for name, corpus in config.corpora.items()
    }
    for name, listing in listings.items():
        for unused in listing.unused:
            progress.note(f"corpora.{name}: {unused} matches no file")
    plan = Plan(config, listings, encoders, generator, validator)
    for stage in stages:
        plan.add(stage.name, stage.cells(plan))
    return Run(config, lake, plan)


def _check_folders(config: RunConfig, path: Path) -> None:
    """Refuse outputs that would be read as documents, and a report folder that cannot be one."""
    if "://" in config.report.folder:
        raise ConfigError(f"{path}: report.folder: {config.report.folder!r}: must be a folder of this machine")
    report = Path(config.report.folder)
    there = next(parent for parent in (report, *report.parents) if parent.exists())
    if not there.is_dir():
        raise ConfigError(f"{path}: report.folder: {config.report.folder!r}: {there} is a file")
    outputs = {"lake": config.lake, "report.folder": config.report.folder}
    for name, corpus in config.corpora.items():
        for key, output in outputs.items():
            if Path(corpus.path) in (Path(output), *Path(output).parents):
                raise ConfigError(f"{path}: {key}: {output!r}: lies in corpora.{name}.path: it would become documents")


def _write_demo(config: RunConfig, progress: Progress) -> None:
    from teleembed_ray.demo.corpus import write_corpus

    if config.demo is not None:
        progress.note(f"demo: {config.demo.num_documents} documents a corpus in {config.demo.folder}")
        write_corpus(Path(config.demo.folder), config.demo.num_documents, config.demo.seed)


def provenance() -> dict[str, Any]:
    """Versions, commit and machine that go into every manifest."""
    packages = {}
    for name in RECORDED_PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = "not installed"
    return {"packages": packages, "python": platform.python_version(), "git_commit": git_commit()}


def git_commit() -> str | None:
    """Commit of the running code, or None where it is not in a git checkout."""
    folder = Path(teleembed_ray.__file__).parent.parent
    if not (folder / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None


def connect(config: RunConfig, progress: Progress) -> None:
    """Attach to the Ray that this process belongs to, or start one on this machine."""
    # Set before Ray starts its processes, which inherit them.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray's own processes report harmless things as errors on this terminal; =info brings them back.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    import logging

    import ray
    import ray.data

    address = os.environ.get("RAY_ADDRESS")
    resources = config.resources
    if address:
        progress.note(f"ray: connecting to {address}")
    local = {
        # Said in so many words: without an address Ray would join whatever cluster was started on this machine.
        "address": "local",
        "num_cpus": resources.num_cpus or os.cpu_count() or 1,
        "include_dashboard": False,
        "object_store_memory": resources.object_store_bytes,
    }
    if not ray.is_initialized():
        options = {"address": address} if address else local
        try:
            with _native_stderr_closed():
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        except Exception as error:
            # Ray raises bare exceptions here: no cluster at the address, or its processes did not come up in time.
            where = f"at {address}" if address else "on this machine"
            raise ArtifactError(f"Ray could not be started {where}: {' '.join(str(error).split())}") from error
    _stop_in_plain_words()
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # One block is one part from end to end; Ray must not cut it by size.
    context.target_max_block_size = None
    total = ray.cluster_resources()
    progress.note(f"ray: {total.get('CPU', 0):g} CPUs, {total.get('GPU', 0):g} GPUs, {len(ray.nodes())} nodes")
    _check_resources(config, total, is_fixed=address is None)


def _stop_in_plain_words() -> None:
    """Make SIGTERM an interrupt like Ctrl-C; Ray's own handler, set when it starts, prints a native stack instead."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)


@contextmanager
def _native_stderr_closed() -> Iterator[None]:
    """Keep quiet what native code prints while Ray starts; Python's exceptions still come through."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _check_resources(config: RunConfig, total: dict[str, float], is_fixed: bool) -> None:
    """Refuse a local run that asks for more than there is: Ray would wait for it for ever, without a word."""
    if not is_fixed:
        return
    resources = config.resources
    # The readers and writers beside an actor, and the task that lists blocks.
    beside = 0.5
    needs = {
        "pairs": [resources.generator, resources.validator],
        "embed": [resources.embed],
    }
    for stage, actors in needs.items():
        for kind, amount in (
            ("CPU", beside + sum(actor.num_cpus * actor.num_actors for actor in actors)),
            ("GPU", sum(actor.num_gpus * actor.num_actors for actor in actors)),
        ):
            if amount > total.get(kind, 0.0):
                raise ConfigError(
                    f"resources: stage {stage} asks for {amount:g} {kind}s and this machine offers "
                    f"{total.get(kind, 0.0):g}: lower num_actors, num_cpus or num_gpus"
                )


def run_config(
    path: Path,
    assignments: Sequence[str] = (),
    only: Sequence[str] = (),
    start: str | None = None,
    end: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run the stages of a configuration that are selected and not there yet; raises ConfigError and ArtifactError."""
    from teleembed_ray.stages.order import STAGES
    from teleembed_ray.stages.report import write_benchmark

    progress = progress or Progress()
    selected = select_stages(STAGES, only, start, end)
    prepared = prepare(path, assignments, STAGES, progress, write=True)
    context = RunContext(prepared.plan, prepared.lake, progress, provenance())
    with prepared.lake.locked():
        write_benchmark(context)
        num_computed = run(context, selected, lambda: connect(prepared.config, progress))
    if num_computed == 0:
        progress.note("nothing to do: every cell is there")
    progress.note(f"lake: {prepared.config.lake}")
    page = Path(prepared.config.report.folder) / "index.html"
    if page.is_file():
        progress.note(f"page: {page}")
    return prepared
