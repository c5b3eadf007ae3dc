"""Walks through an archive on this machine: what is chosen, what a second run asks, what a fault costs."""

import json
from pathlib import Path

from archive_server import Server

from teleembed_ray.fetch.archive3gpp import Fetch, Request, fetch_archive
from teleembed_ray.progress import Progress


def fetch(server: Server, folder: Path, **wanted: object) -> Fetch:
    request = Request(**{"release": 19, "root": server.root, "rate_per_s": 1000.0, "first_wait_s": 0.001} | wanted)  # type: ignore[arg-type]
    return fetch_archive(request, folder, Progress())


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name != "manifest.json"
    }


def test_the_latest_version_of_the_release_is_chosen_and_not_the_latest_of_all(server: Server, tmp_path: Path) -> None:
    # i is 18, j is 19, k is 20; 9 is above 2 as a digit, and a (10) above 9.
    for version in ("i90", "j20", "j91", "ja0", "k00"):
        server.add("38.331", version)
    server.add("38.101-1", "j10")
    server.add("38.101-1", "191100")
    server.add("23.003", "i00")
    done = fetch(server, tmp_path)
    assert list(files_in(tmp_path)) == ["38_series/38101-1-191100.zip", "38_series/38331-ja0.zip"]
    assert done.outcomes == {"new": 2, "absent": 1}
    record = json.loads((tmp_path / "manifest.json").read_text())["files"]["38_series/38331-ja0.zip"]
    assert (record["version"], record["release"], record["spec"]) == ("19.10.0", 19, "38.331")
    assert record["url"] == f"{server.root}/38_series/38.331/38331-ja0.zip"


def test_a_second_run_asks_for_listings_only_and_changes_nothing(server: Server, tmp_path: Path) -> None:
    server.add("38.331", "j10")
    fetch(server, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.zip")}
    server.requests.clear()
    done = fetch(server, tmp_path)
    assert done.outcomes == {"kept": 1}
    assert [path for path, _ in server.requests if path.endswith(".zip")] == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.zip")} == before
