"""What a fetch from the 3GPP archive says of itself at its end."""

from pathlib import Path

from teleembed_ray.fetch.archive3gpp import Fetch

# In the order in which a reader asks; `replaced` counts older versions that a newer one took the place of.
_WORDS = {
    "new": "new",
    "renewed": "changed at the server",
    "kept": "there already",
    "replaced": "older versions removed",
    "absent": "without a version of this release",
    "failed": "failed",
}


def summary_line(fetch: Fetch, folder: Path) -> str:
    """Return one line that counts what became of the specifications."""
    counts = [f"{fetch.outcomes[outcome]:,} {words}" for outcome, words in _WORDS.items() if fetch.outcomes[outcome]]
    num_bytes = sum(record.num_bytes for record in fetch.manifest.files.values())
    size = f"{len(fetch.manifest.files):,} files, {num_bytes / 1e6:,.1f} MB"
    return f"{', '.join(counts) or 'nothing to do'}; {folder} holds {size}"


def offer_lines(fetch: Fetch) -> list[str]:
    """Return a line for each specification on offer: number, version, file, and what the listing says."""
    return [
        f"{spec:<12} {candidate.version!s:<8} {candidate.path:<36} {candidate.entry.stamp}".rstrip()
        for spec, candidate in sorted(fetch.offers.items())
    ]


def failure_lines(fetch: Fetch) -> list[str]:
    """Return a line for each failure, by name."""
    return [
        f"failed: {name}: {failure.detail} [{failure.reason}]"
        for name, failure in sorted(fetch.manifest.failures.items())
    ]
