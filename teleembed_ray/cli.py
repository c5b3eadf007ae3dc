"""The `teleembed` command: run | plan | status | report | fetch | doctor."""

import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.fetch.commands import fetch

KNOWN: dict[str, type[ConfigError] | type[ArtifactError]] = {
    "ConfigError": ConfigError,
    "ArtifactError": ArtifactError,
}
RAISED_ON_WORKER = re.compile(r"^teleembed_ray\.errors\.(ConfigError|ArtifactError): (.+)$", re.MULTILINE)

# What the machine, and no bug, has to answer for.
MACHINE_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EMFILE}
)

EXIT_CONFIG = 2
EXIT_ARTIFACT = 3
EXIT_INTERRUPTED = 130

config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="YAML configuration, such as configs/demo.yaml.",
)
set_option = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set one value on top of the file, such as --set pairs.per_cell=50. May be repeated.",
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: teleembed run --config configs/demo.yaml",
)
@click.version_option(package_name="teleembed-ray", prog_name="teleembed")
def cli() -> None:
    """Build, run and explain a telecom retrieval benchmark.

    A run reads documents, cuts them into chunks, has one language model write a question for a chunk and a second one
    judge it, embeds chunks and questions with every model, searches exactly, scores with intervals, and writes one
    page. What is in the lake already is not computed again: run the same command after a crash, or with one more model.
    """


@cli.command("run")
@config_option
@set_option
@click.option("--only", multiple=True, metavar="STAGE", help="Run this stage only. May be repeated.")
@click.option("--from", "start", metavar="STAGE", help="Run from this stage on.")
@click.option("--until", "end", metavar="STAGE", help="Run up to and with this stage.")
def run_command(
    config_path: Path, assignments: tuple[str, ...], only: tuple[str, ...], start: str | None, end: str | None
) -> None:
    """Compute what is missing, from documents to the page.

    The stages are ingest, chunk, pairs, embed, index, retrieve, evaluate and report.
    """
    from teleembed_ray.run import run_config

    run_config(config_path, assignments, only, start, end)


@cli.command("plan")
@config_option
@set_option
def plan_command(config_path: Path, assignments: tuple[str, ...]) -> None:
    """Show what would run and what is there, with an estimate of rows, tokens and time. Writes nothing."""
    from teleembed_ray.overview import print_plan

    print_plan(config_path, assignments)


@cli.command("status")
@config_option
@set_option
def status_command(config_path: Path, assignments: tuple[str, ...]) -> None:
    """Show each table of the lake: cells done, stale and missing, rows, rejects and seconds spent."""
    from teleembed_ray.overview import print_status

    print_status(config_path, assignments)


@cli.command("report")
@config_option
@set_option
def report_command(config_path: Path, assignments: tuple[str, ...]) -> None:
    """Write the page and its tables again, from the lake alone."""
    from teleembed_ray.config import load_config
    from teleembed_ray.lake import Lake
    from teleembed_ray.run import anchored
    from teleembed_ray.stages.report import rebuild

    config = load_config(config_path, assignments)
    page = rebuild(Lake(anchored(config.lake)), Path(anchored(config.report.folder)), config.report.num_examples)
    click.echo(page)


@cli.command("doctor")
def doctor_command() -> None:
    """Show what this machine has: cores, memory, GPUs, FAISS build, models found, and whether Ray can be reached."""
    from teleembed_ray.doctor import print_report

    print_report()


cli.add_command(fetch)


def known_cause(error: BaseException) -> ConfigError | ArtifactError | None:
    """Return the error that a person can act on, out of what Ray wrapped around it on the way from a worker."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop()
        if current is None or id(current) in seen:
            continue
        if isinstance(current, (ConfigError, ArtifactError)):
            return current
        # Ray brings the text of what a worker raised, and not always the exception itself.
        if match := RAISED_ON_WORKER.search(str(current)):
            return KNOWN[match[1]](match[2].strip())
        seen.add(id(current))
        queue += [current.__cause__, current.__context__, getattr(current, "cause", None)]
    return None


def machine_error(error: BaseException) -> ArtifactError | None:
    """Return a full disk, a missing right and their like as one line: what the system said, and of which file."""
    if not isinstance(error, OSError) or error.errno not in MACHINE_ERRORS:
        return None
    return ArtifactError(
        f"{error.filename or 'output'}: {os.strerror(error.errno)}: make room or change the rights, and run again"
    )


def guarded(call: Callable[[], None]) -> int:
    """Run a command; return its exit code, with the errors of people as one line and no traceback."""
    try:
        call()
    except KeyboardInterrupt:
        click.echo("interrupted: what is done stays; run the same command to go on", err=True)
        return EXIT_INTERRUPTED
    except Exception as error:
        known = known_cause(error) or machine_error(error)
        if known is None:
            raise
        click.echo(f"error: {known}", err=True)
        return EXIT_CONFIG if isinstance(known, ConfigError) else EXIT_ARTIFACT
    return 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `teleembed`."""

    def call() -> None:
        try:
            cli.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
        except click.exceptions.Abort:
            raise KeyboardInterrupt from None
        except click.ClickException as error:
            error.show()
            raise SystemExit(error.exit_code) from None

    sys.exit(guarded(call))


if __name__ == "__main__":
    main()
