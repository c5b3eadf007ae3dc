"""The 3GPP archive -> a folder with the latest version of each specification of one release.

    <root>/38_series/38.331/38331-j10.zip  ->  <folder>/38_series/38331-j10.zip

Each specification is looked up and fetched on its own, so one that fails costs itself and nothing else.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from teleembed_ray.errors import ArtifactError
from teleembed_ray.fetch import manifest as manifests
from teleembed_ray.fetch.client import FIRST_WAIT_S, Client, FetchError, checked_root
from teleembed_ray.fetch.download import Download, Receipt, Validators
from teleembed_ray.fetch.listing import Entry, parse_listing
from teleembed_ray.fetch.manifest import FailureRecord, FileRecord, Manifest
from teleembed_ray.fetch.versions import (
    FIRST_SERIES,
    Version,
    parse_spec,
    series_of_folder,
    series_of_spec,
    version_of_file,
)
from teleembed_ray.fetch.walk import Walk
from teleembed_ray.progress import Progress, Task

# So many specifications in a row without an answer mean that the server is gone, and not that they are.
NUM_UNANSWERED = 4


@dataclass(frozen=True)
class Request:
    """What is wanted of the archive; without series and specs, all of a release."""

    release: int
    root: str
    series: tuple[int, ...] = ()
    specs: tuple[str, ...] = ()
    rate_per_s: float = 2.0
    num_parallel: int = 2
    first_wait_s: float = FIRST_WAIT_S


@dataclass(frozen=True)
class Candidate:
    """The file that the archive offers for one specification."""

    spec: str
    version: Version
    entry: Entry

    @property
    def path(self) -> str:
        """Where the file goes, below the folder: made of checked parts only, since the name comes from a server."""
        return f"{self.spec[:2]}_series/{self.entry.name.lower()}"


async def _in_parallel(items: Iterable[str], work: Callable[[str], Awaitable[None]], num_parallel: int) -> None:
    """Run `work` on each item, a few at a time; the first error ends all."""
    queue = iter(items)

    async def worker() -> None:
        for item in queue:
            await work(item)

    tasks = [asyncio.create_task(worker()) for _ in range(num_parallel)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Archive:
    """The archive on a server: which specifications there are, and the latest version of one."""

    def __init__(self, client: Client, request: Request) -> None:
        self._client = client
        self._request = request
        self._root = request.root

    async def _entries(self, url: str) -> list[Entry]:
        page, address = await self._client.read_page(url)
        entries = parse_listing(page, address)
        if entries is None:
            raise FetchError("no_listing", f"{url}: is no list of files (a login or block page?): look at it")
        return entries

    async def series(self) -> list[int]:
        """Return the series to look through: those asked for, or all that count versions by release."""
        if self._request.series or self._request.specs:
            return sorted(set(self._request.series))
        found = {series_of_folder(entry.name) for entry in await self._entries(f"{self._root}/")}
        series = sorted(number for number in found if number is not None and number >= FIRST_SERIES)
        if not series:
            raise FetchError("no_listing", f"{self._root}/: holds no folder such as 38_series: check --root")
        return series

    async def specs_of(self, series: int) -> list[str]:
        """Return the numbers of all specifications of a series."""
        entries = await self._entries(f"{self._root}/{series:02}_series/")
        specs = {parse_spec(entry.name) for entry in entries}
        return sorted(spec for spec in specs if spec is not None and series_of_spec(spec) == series)

    async def latest(self, spec: str) -> Candidate | None:
        """Return the greatest version that a specification has in the release, or None where it has none."""
        candidates = [
            Candidate(spec, version, entry)
            for entry in await self._entries(f"{self._root}/{spec[:2]}_series/{spec}/")
            if (version := version_of_file(spec, entry.name)) and version.release == self._request.release
        ]
        return max(candidates, key=lambda candidate: candidate.version, default=None)


class Fetch:
    """One run of the command: the archive, the folder, its manifest, and what became of each specification."""

    def __init__(self, request: Request, folder: Path, archive: Archive, client: Client, walk: Walk | None) -> None:
        self.manifest: Manifest = manifests.read_manifest(folder)
        self.manifest.failures.clear()
        self.outcomes: Counter[str] = Counter()
        self.offers: dict[str, Candidate] = {}
        self._request = request
        self._folder = folder
        self._archive = archive
        self._client = client
        self._walk = walk
        self._num_unanswered = 0

    async def specs(self) -> list[str]:
        """Return every specification to look at; a series that cannot be listed is a failure of its own."""
        found = set(self._request.specs)
        for series in await self._archive.series():
            try:
                found.update(await self._archive.specs_of(series))
            except FetchError as failure:
                self._fail(f"{series:02}_series", failure)
        return sorted(found)

    async def look_at(self, spec: str) -> None:
        """Fetch the latest version of one specification where it is not there, and count what became of it."""
        if self._walk and self._walk.knows(spec) and await self._is_as_left(self._walk.path_of(spec)):
            self.outcomes["kept" if self._walk.path_of(spec) else "absent"] += 1
            return
        try:
            outcome = await self._fetch(spec)
        except FetchError as failure:
            self._fail(spec, failure)
            return
        self._num_unanswered = 0
        self.outcomes[outcome] += 1
        if self._walk:
            self._walk.note(spec, None if outcome == "absent" else self.offers[spec].path)

    def _fail(self, name: str, failure: FetchError) -> None:
        self.outcomes["failed"] += 1
        self.manifest.failures[name] = FailureRecord(reason=failure.reason, detail=failure.detail)
        self._num_unanswered = self._num_unanswered + 1 if failure.reason == "unavailable" else 0
        # A server that wants to be left alone means all of us, and one that is gone is gone for all.
        if failure.reason == "told_to_wait" or self._num_unanswered >= NUM_UNANSWERED:
            raise ArtifactError(f"gave up, what has come is in {self._folder}: {failure.detail}")

    def _records(self, spec: str) -> dict[str, FileRecord]:
        """Return what the manifest has of a specification in this release."""
        return {
            path: record
            for path, record in self.manifest.files.items()
            if record.spec == spec and record.release == self._request.release
        }

    async def _is_as_left(self, path: str | None) -> bool:
        """Whether what an unfinished walk brought still lies there as it came."""
        record = self.manifest.files.get(path) if path else None
        return path is None or (record is not None and await self._is_there(path, record))

    async def _is_there(self, path: str, record: FileRecord) -> bool:
        target = self._folder / path
        if not target.is_file() or target.stat().st_size != record.num_bytes:
            return False
        return await asyncio.to_thread(manifests.sha256_of, target) == record.sha256

    async def _fetch(self, spec: str) -> str:
        candidate = await self._archive.latest(spec)
        if candidate is None:
            if spec in self._request.specs:
                raise FetchError("no_version", f"{spec}: has no version of release {self._request.release}")
            return "absent"
        self.offers[spec] = candidate
        record = self.manifest.files.get(candidate.path)
        there = record is not None and await self._is_there(candidate.path, record)
        if record and there and candidate.entry.stamp and candidate.entry.stamp == record.listed:
            return "kept"
        if self._walk is None:
            return "renewed" if there else "new"
        return await self._download(candidate, record if there else None)

    async def _download(self, candidate: Candidate, record: FileRecord | None) -> str:
        entry = candidate.entry
        known = Validators(record.etag, record.last_modified) if record else None
        target = self._folder / candidate.path
        receipt = await Download(self._client, entry.url, target, entry.num_bytes, known).run()
        if receipt is None and record:
            self.manifest.files[candidate.path] = record.model_copy(update={"listed": entry.stamp})
        elif receipt:
            self.manifest.files[candidate.path] = self._record_of(candidate, receipt)
        self._retire_older(candidate)
        manifests.write_manifest(self._folder, self.manifest)
        if record is None:
            return "new"
        return "kept" if receipt is None or receipt.sha256 == record.sha256 else "renewed"

    def _record_of(self, candidate: Candidate, receipt: Receipt) -> FileRecord:
        return FileRecord(
            url=candidate.entry.url,
            spec=candidate.spec,
            release=candidate.version.release,
            version=str(candidate.version),
            num_bytes=receipt.num_bytes,
            sha256=receipt.sha256,
            etag=receipt.validators.etag,
            last_modified=receipt.validators.last_modified,
            listed=candidate.entry.stamp,
            checked=receipt.checked,
            fetched=manifests.now(),
        )

    def _retire_older(self, candidate: Candidate) -> None:
        """Remove older versions that an earlier fetch brought: two versions in one corpus are near-twins."""
        for path in self._records(candidate.spec):
            older = version_of_file(candidate.spec, path.rpartition("/")[2])
            if older and older < candidate.version:
                (self._folder / path).unlink(missing_ok=True)
                del self.manifest.files[path]
                self.outcomes["replaced"] += 1


async def _run(request: Request, folder: Path, progress: Progress, dry_run: bool) -> Fetch:
    async with Client(request.root, request.rate_per_s, request.first_wait_s) as client:
        walk = None if dry_run else Walk(folder, request.root, request.release)
        fetch = Fetch(request, folder, Archive(client, request), client, walk)
        specs = await fetch.specs()
        progress.note(f"{len(specs):,} specifications to look at, in release {request.release} of {request.root}")
        with progress.task("fetch", total=len(specs), unit="specifications") as task:
            await _in_parallel(specs, lambda spec: _counted(fetch, spec, task), request.num_parallel)
        if walk and not fetch.manifest.failures:
            walk.end()
        return fetch


async def _counted(fetch: Fetch, spec: str, task: Task) -> None:
    await fetch.look_at(spec)
    task.advance(1)


def fetch_archive(request: Request, folder: Path, progress: Progress) -> Fetch:
    """Bring a folder up to date with the archive; returns what became of each specification.

    The manifest holds every file that came and every failure. Raises ConfigError for a root or folder that is none,
    ArtifactError where the server is out of reach.
    """
    request = replace(request, root=checked_root(request.root))
    with manifests.locked(folder):
        fetch = asyncio.run(_run(request, folder, progress, dry_run=False))
        manifests.write_manifest(folder, fetch.manifest)
    return fetch


def list_archive(request: Request, folder: Path, progress: Progress) -> Fetch:
    """Look at the archive as `fetch_archive` would, and write nothing."""
    request = replace(request, root=checked_root(request.root))
    return asyncio.run(_run(request, folder, progress, dry_run=True))
