"""The `teleembed fetch` commands: 3gpp | git | oran."""

from pathlib import Path

import click

from teleembed_ray.errors import ArtifactError, ConfigError

CODE_FILES = ("cc", "cpp", "cxx", "h", "hpp", "md", "yaml", "yml")
ROOT = "https://www.3gpp.org/ftp/Specs/archive"

into_option = click.option(
    "--into", "folder", type=click.Path(path_type=Path), metavar="FOLDER", help="Where the files go; made if absent."
)


@click.group(epilog="Start with: teleembed fetch 3gpp --release 19 --series 38 --dry-run")
def fetch() -> None:
    """Fetch the documents of a corpus: 3GPP specifications, a code tree; say how to get O-RAN's.

    Each command keeps what is there, goes on after a crash or Ctrl-C when it is typed again, writes manifest.json with
    the origin and the sha256 of all it fetched, and prints the lines that make a corpus of the folder.
    """


def _specs(values: tuple[str, ...]) -> tuple[str, ...]:
    from teleembed_ray.fetch.versions import FIRST_SERIES, parse_spec, series_of_spec

    specs = [(value, parse_spec(value)) for value in values]
    for value, spec in specs:
        if spec is None or series_of_spec(spec) < FIRST_SERIES:
            raise ConfigError(f"--spec {value}: must be a number such as 38.331 or 38.101-1, of series 21 or above")
    return tuple(sorted({spec for _, spec in specs if spec}))


@fetch.command("3gpp")
@click.option("--release", type=click.IntRange(4, 35), required=True, metavar="N", help="Release, such as 19.")
@click.option(
    "--series", type=click.IntRange(21, 99), multiple=True, metavar="NN", help="Only this series. May be repeated."
)
@click.option("--spec", "specs", multiple=True, metavar="NN.NNN", help="Only this specification. May be repeated.")
@into_option
@click.option("--dry-run", is_flag=True, help="List what would be fetched, and write nothing.")
@click.option("--root", default=ROOT, show_default=True, metavar="URL", help="A mirror of the archive.")
@click.option(
    "--rate",
    type=click.FloatRange(0.05, 20.0),
    default=2.0,
    show_default=True,
    metavar="R",
    help="Requests a second, at most.",
)
@click.option(
    "--parallel", type=click.IntRange(1, 4), default=2, show_default=True, metavar="N", help="Downloads at a time."
)
def fetch_3gpp(
    release: int,
    series: tuple[int, ...],
    specs: tuple[str, ...],
    folder: Path | None,
    dry_run: bool,
    root: str,
    rate: float,
    parallel: int,
) -> None:
    """Fetch the latest version of each 3GPP specification of one release, as the zip files that 3GPP publishes.

    Without --series and --spec, the whole archive is looked through: at the default rate that takes about half an hour
    before transfer times, and some gigabytes.
    """
    from teleembed_ray.fetch.archive3gpp import Request, fetch_archive, list_archive
    from teleembed_ray.fetch.corpus import corpus_lines
    from teleembed_ray.fetch.summary import failure_lines, offer_lines, summary_line
    from teleembed_ray.progress import Progress

    folder = folder or Path("runs/documents") / f"3gpp-rel-{release}"
    request = Request(release, root, series, _specs(specs), rate, parallel)
    if dry_run:
        done = list_archive(request, folder, Progress())
        click.echo("\n".join(offer_lines(done)))
    else:
        done = fetch_archive(request, folder, Progress())
    click.echo(summary_line(done, folder), err=True)
    if not dry_run and done.manifest.files:
        click.echo(corpus_lines(f"3gpp-rel-{release}", folder, include=["**/*.zip"]))
    if done.manifest.failures:
        click.echo("\n".join(failure_lines(done)), err=True)
        raise ArtifactError(f"{len(done.manifest.failures)} could not be had; all else is there: run the command again")


@fetch.command("git")
@click.argument("url")
@click.option("--ref", required=True, metavar="TAG", help="Tag, branch or whole commit hash; a tag stays what it is.")
@into_option
@click.option("--submodules", is_flag=True, help="Fetch the repository's submodules too.")
def fetch_git(url: str, ref: str, folder: Path | None, submodules: bool) -> None:
    """Fetch the files of one tag, branch or commit of a git repository, without its history.

    The tree goes to FOLDER/<name>-<tag>, runs/documents/<name>-<tag> by default. It needs the program git.
    """
    from teleembed_ray.fetch.corpus import corpus_lines
    from teleembed_ray.fetch.git import fetch_tree, repository_name
    from teleembed_ray.progress import Progress

    folder = folder or Path("runs/documents")
    done = fetch_tree(url, ref, folder, submodules, Progress())
    record = done.record
    state = "was there already, unchanged" if done.was_there else "fetched"
    size = f"{record.num_files:,} files, {record.num_bytes / 1e6:,.1f} MB"
    click.echo(f"{folder / done.path}: {state}: commit {record.commit}, {size}", err=True)
    include = [f"**/*.{suffix}" for suffix in CODE_FILES]
    click.echo(corpus_lines(repository_name(url), folder / done.path, separators="code", include=include))


@fetch.command("oran")
@into_option
def fetch_oran(folder: Path | None) -> None:
    """Say how to get the O-RAN specifications and where to put them; their licence needs a person's click.

    Writes nothing.
    """
    from teleembed_ray.fetch.oran import steps

    click.echo(steps(folder or Path("runs/documents") / "oran"))
