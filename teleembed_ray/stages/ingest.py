"""Stage `ingest`: the files of each corpus -> documents."""

from functools import partial
from typing import Any

import fsspec
import pyarrow as pa

from teleembed_ray import globs, schemas
from teleembed_ray.config import IngestConfig, RunConfig
from teleembed_ray.corpora import NOT_REGULAR, Listing, SourceFile
from teleembed_ray.documents import archive
from teleembed_ray.documents.isolated import Limits, read_isolated
from teleembed_ray.documents.kernel import documents_table
from teleembed_ray.documents.reader import CONVERTED_SUFFIXES, FRAGILE_SUFFIXES, suffix_of
from teleembed_ray.documents.word97 import find_soffice
from teleembed_ray.errors import ArtifactError
from teleembed_ray.lake import Lake
from teleembed_ray.pipeline import Cell, Plan, RunContext, Stage
from teleembed_ray.stages.parts import PartTask, Work, rejects_fingerprint, run_parts

# What one part holds, so that a crash costs little and a worker's memory stays small. A compressed byte is many
# bytes of XML, but few characters of text.
PART_BYTES = 2 << 20
PART_FILES = 256

# A file that no reader is made for says nothing about the quality of the input.
HARMLESS_REASONS = frozenset({"unsupported"})


def cells(plan: Plan) -> list[Cell]:
    """One cell a corpus."""
    return [
        STAGE.cell("documents", {"corpus": corpus}, _settings(plan.config, listing), [listing.fingerprint])
        for corpus, listing in plan.listings.items()
    ]


def _settings(config: RunConfig, listing: Listing) -> dict[str, Any]:
    """What shapes the rows of a corpus beside the bytes of its files."""
    settings: dict[str, Any] = {"num_files": len(listing.files), "tables": config.ingest.tables}
    suffixes = {suffix_of(file.path) for file in listing.files}
    if archive.SUFFIX in suffixes:
        # The listing knows files and not their members.
        settings["exclude"] = list(config.corpora[listing.corpus].exclude)
    if suffixes & {archive.SUFFIX, *CONVERTED_SUFFIXES}:
        # Whoever installs the converter that a reject asks for has the files read.
        settings["converter"] = find_soffice() is not None
    raised = {
        key: value
        for key, value in (("timeout_s", config.ingest.timeout_s), ("max_memory_gib", config.ingest.max_memory_gib))
        if value > IngestConfig.model_fields[key].default
    }
    if raised and suffixes & {archive.SUFFIX, *FRAGILE_SUFFIXES}:
        # So does whoever raises the limit that a reject asks to raise. Lower limits make nothing stale.
        settings["raised_limits"] = raised
    return settings


def cut(files: tuple[SourceFile, ...]) -> list[list[SourceFile]]:
    """Cut a listing into parts, in path order; the cut depends on the listing alone."""
    parts: list[list[SourceFile]] = []
    num_bytes = 0
    for file in files:
        if not parts or num_bytes + file.num_bytes > PART_BYTES or len(parts[-1]) >= PART_FILES:
            parts.append([])
            num_bytes = 0
        parts[-1].append(file)
        num_bytes += file.num_bytes
    return parts


def read_files(lake: Lake, task: PartTask) -> pa.Table:
    """Read the bytes of one part's files; a file that cannot be read keeps its row, with the reason."""
    corpus, url, files = task.source
    fs, root = fsspec.core.url_to_fs(url)
    rows = []
    for path, is_regular in files:
        # A name that is no UTF-8 is written with escapes; the file is opened by its own name.
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        row = {"corpus": corpus, "path": shown, "data": None, "problem": None}
        if not is_regular:
            rows.append(row | {"problem": "is no regular file (a pipe, or a link to a folder or to nothing)"})
            continue
        try:
            row["data"] = fs.cat_file(f"{root.rstrip('/')}/{path}")
        except OSError as error:
            row["problem"] = f"cannot be read: {error.strerror or type(error).__name__}"
        rows.append(row)
    schema = pa.schema(
        [("corpus", pa.string()), ("path", pa.string()), ("data", pa.large_binary()), ("problem", schemas.TEXT)]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def extract(config: RunConfig, task: PartTask, files: pa.Table) -> pa.Table:
    """Apply the readers to one part; an unreadable file is a reject like any other."""
    corpus = config.corpora[task.source[0]]
    read = partial(
        read_isolated,
        keep_tables=config.ingest.tables == "keep",
        limits=Limits(config.ingest.timeout_s, config.ingest.max_memory_gib),
    )
    return documents_table(files, read, partial(globs.selects, include=corpus.include, exclude=corpus.exclude))


def refuse_too_many_rejects(context: RunContext, cell: Cell) -> None:
    """Raise where more of a corpus was rejected than `ingest.max_reject_fraction` allows, naming the main reasons."""
    done = context.lake.parts_done(rejects_fingerprint(cell.fingerprint))
    folder = f"_parts/{rejects_fingerprint(cell.fingerprint)}"
    tables = [context.lake.read_parquet(f"{folder}/{file.name}") for files in done.values() for file in files]
    rejects = [row for table in tables for row in table.to_pylist()]
    # An archive is one file and many documents, so the documents are counted.
    num_documents = len(rejects) + sum(
        context.lake.read_parquet(f"_parts/{cell.fingerprint}/{file.name}", columns=["doc_id"]).num_rows
        for files in context.lake.parts_done(cell.fingerprint).values()
        for file in files
    )
    bad = [row for row in rejects if row["reason"] not in HARMLESS_REASONS]
    counts: dict[str, int] = {}
    for row in rejects:
        counts[row["reason"]] = counts.get(row["reason"], 0) + 1
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1]))
    for row in rejects[:5]:
        context.progress.note(f"ingest: reject in {cell.keys['corpus']}: {row['detail']} ({row['reason']})")
    if len(rejects) > 5:
        context.progress.note(f"ingest: {len(rejects) - 5} more rejects in {cell.keys['corpus']} (see the report)")
    limit = context.config.ingest.max_reject_fraction
    if len(rejects) == num_documents:
        raise ArtifactError(
            f"corpus {cell.keys['corpus']}: not one of its {num_documents} documents gave text ({reasons})"
        )
    if len(bad) > limit * num_documents:
        raise ArtifactError(
            f"corpus {cell.keys['corpus']}: {len(bad)} of {num_documents} documents were rejected ({reasons}), more "
            f"than ingest.max_reject_fraction = {limit} allows: mend or exclude them, or raise the limit"
        )


def run(context: RunContext, cells: list[Cell]) -> None:
    """Read every file of the corpora that changed."""
    works = []
    for cell in cells:
        corpus = str(cell.keys["corpus"])
        url = context.config.corpora[corpus].path
        tasks = [
            PartTask(
                cell.fingerprint,
                index,
                (corpus, url, [(file.path, file.digest != NOT_REGULAR) for file in files]),
                len(files),
                sum(file.num_bytes for file in files),
            )
            for index, files in enumerate(cut(context.plan.listings[corpus].files))
        ]
        works.append(Work(cell, tasks))
    run_parts(
        context,
        works,
        read_files,
        kernel=partial(extract, context.config),
        label="ingest",
        unit="files",
        empty=schemas.DOCUMENTS,
        before_publish=partial(refuse_too_many_rejects, context),
    )


STAGE = Stage("ingest", reads=(), writes=("documents", "rejects"), version=3, cells=cells, run=run)
