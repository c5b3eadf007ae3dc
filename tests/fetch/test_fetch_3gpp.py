"""Walks through an archive on this machine: what is chosen, what a second run asks, what a fault costs."""

import json
from pathlib import Path
from typing import Any

import pytest
from archive_server import ARCHIVE, Handler, Served, Server, zip_bytes

from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.fetch.archive3gpp import Fetch, Request, fetch_archive, list_archive
from teleembed_ray.fetch.manifest import locked
from teleembed_ray.progress import Progress

FILLER = 300_000


def request_of(server: Server, **wanted: Any) -> Request:
    return Request(**{"release": 19, "root": server.root, "rate_per_s": 1000.0, "first_wait_s": 0.001, **wanted})


def fetch(server: Server, folder: Path, **wanted: Any) -> Fetch:
    return fetch_archive(request_of(server, **wanted), folder, Progress())


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all that a corpus would see of a folder, but the manifest."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name != "manifest.json"
    }


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text()))


def cut_at(num_bytes: int) -> Any:
    """A fault: the connection drops after so many bytes of the body."""
    return lambda handler: handler.send_file(handler.server.files[handler.path], num_bytes)


def status(code: int, **headers: str) -> Any:
    return lambda handler: handler.send_page(code, "<html>No</html>", **headers)


def test_the_latest_version_of_the_release_is_chosen_and_not_the_latest_of_all(server: Server, tmp_path: Path) -> None:
    # i is 18, j is 19, k is 20; 9 is above 2 as a digit, and a (10) above 9.
    for version in ("i90", "j20", "j91", "ja0", "k00"):
        server.add("38.331", version)
    server.add("38.101-1", "j10")
    server.add("38.101-1", "191100")
    server.add("23.003", "i00")
    # Before Release 4 the first field of a version was no release: version 19 in the 12 series is none of Release 19.
    server.add("12.071", "j00")
    # A folder in a series that it does not belong to.
    server.files[f"{ARCHIVE}/38_series/36.331/36331-j10.zip"] = Served(zip_bytes("stray"))
    done = fetch(server, tmp_path)
    assert list(files_in(tmp_path)) == ["38_series/38101-1-191100.zip", "38_series/38331-ja0.zip"]
    assert done.outcomes == {"new": 2, "absent": 1}
    record = manifest_of(tmp_path)["files"]["38_series/38331-ja0.zip"]
    assert (record["version"], record["release"], record["spec"]) == ("19.10.0", 19, "38.331")
    assert record["url"] == f"{server.root}/38_series/38.331/38331-ja0.zip"


def test_series_and_specs_name_what_is_asked_and_nothing_else_is(server: Server, tmp_path: Path) -> None:
    for spec in ("23.501", "36.331", "38.211", "38.331"):
        server.add(spec, "j10")
    fetch(server, tmp_path, series=(36,), specs=("38.331",))
    assert list(files_in(tmp_path)) == ["36_series/36331-j10.zip", "38_series/38331-j10.zip"]
    folders = {path.removeprefix(ARCHIVE) for path, _ in server.requests if path.endswith("/")}
    assert folders == {"/36_series/", "/36_series/36.331/", "/38_series/38.331/"}


def test_a_named_specification_without_a_version_of_the_release_is_a_failure(server: Server, tmp_path: Path) -> None:
    server.add("38.331", "i10")
    server.add("38.211", "j10")
    done = fetch(server, tmp_path, specs=("38.331", "38.999", "38.211"))
    assert {name: failure.reason for name, failure in done.manifest.failures.items()} == {
        "38.331": "no_version",
        "38.999": "not_found",
    }
    assert list(files_in(tmp_path)) == ["38_series/38211-j10.zip"]


def test_a_dry_run_names_the_files_and_leaves_no_trace(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10")
    done = list_archive(request_of(server), tmp_path / "new", Progress())
    assert [candidate.path for candidate in done.offers.values()] == ["38_series/38331-j10.zip"]
    assert not (tmp_path / "new").exists()
    assert server.asked(path) == []


def test_a_second_run_asks_for_listings_only_and_changes_nothing(server: Server, tmp_path: Path) -> None:
    server.add("38.331", "j10")
    fetch(server, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.zip")}
    server.requests.clear()
    assert fetch(server, tmp_path).outcomes == {"kept": 1}
    assert server.asked(".zip") == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.zip")} == before


def test_a_file_that_changed_at_the_server_is_fetched_again(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10")
    fetch(server, tmp_path)
    server.files[path] = Served(zip_bytes("corrected"), etag='"2"', stamp="2024/07/01 09:00")
    assert fetch(server, tmp_path).outcomes == {"renewed": 1}
    assert files_in(tmp_path) == {"38_series/38331-j10.zip": server.files[path].data}
    assert manifest_of(tmp_path)["files"]["38_series/38331-j10.zip"]["etag"] == '"2"'


def test_a_new_date_alone_costs_one_question_and_no_transfer(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10")
    fetch(server, tmp_path)
    server.files[path].stamp = "2024/07/01 09:00"
    assert fetch(server, tmp_path).outcomes == {"kept": 1}
    assert server.asked(path)[-1]["If-None-Match"] == '"1"'
    # And the date is known from then on.
    num_questions = len(server.asked(path))
    fetch(server, tmp_path)
    assert len(server.asked(path)) == num_questions


@pytest.mark.parametrize("damage", ["removed", "cut", "changed"])
def test_a_file_damaged_on_the_disk_is_fetched_again(server: Server, tmp_path: Path, damage: str) -> None:
    path = server.add("38.331", "j10")
    fetch(server, tmp_path)
    file = tmp_path / "38_series" / "38331-j10.zip"
    data = file.read_bytes()
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes(data[:-1] if damage == "cut" else data[:-1] + b"!")
    assert fetch(server, tmp_path).outcomes == {"new": 1}
    assert file.read_bytes() == server.files[path].data


def test_a_newer_version_takes_the_place_of_the_older_once_it_is_there(server: Server, tmp_path: Path) -> None:
    server.add("38.331", "i10")
    server.add("38.331", "j10")
    server.add("38.101-1", "j10")
    fetch(server, tmp_path)
    fetch(server, tmp_path, release=18)
    newer = server.add("38.331", "j20")
    server.fail(newer, status(404))
    fetch(server, tmp_path)
    assert "38_series/38331-j10.zip" in files_in(tmp_path)
    assert fetch(server, tmp_path).outcomes["replaced"] == 1
    # That of another release is no older version of this one.
    assert list(files_in(tmp_path)) == [
        "38_series/38101-1-j10.zip",
        "38_series/38331-i10.zip",
        "38_series/38331-j20.zip",
    ]
    assert sorted(manifest_of(tmp_path)["files"]) == list(files_in(tmp_path))


def test_a_dropped_connection_is_continued_where_it_was_cut(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10", num_filler=FILLER)
    server.fail(path, cut_at(100_000), cut_at(100_000))
    assert fetch(server, tmp_path).outcomes == {"new": 1}
    assert files_in(tmp_path) == {"38_series/38331-j10.zip": server.files[path].data}
    asked = server.asked(path)
    assert [headers.get("Range") for headers in asked] == [None, "bytes=100000-", "bytes=200000-"]
    assert [headers.get("If-Range") for headers in asked] == [None, '"1"', '"1"']


def test_a_file_that_changes_between_two_attempts_is_no_mixture(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10", num_filler=FILLER)
    changed = Served(zip_bytes("corrected", FILLER), etag='"2"')

    def cut_then_change(handler: Handler) -> None:
        handler.send_file(server.files[path], 100_000)
        server.files[path] = changed

    server.fail(path, cut_then_change)
    fetch(server, tmp_path)
    assert files_in(tmp_path) == {"38_series/38331-j10.zip": changed.data}
    assert manifest_of(tmp_path)["files"]["38_series/38331-j10.zip"]["etag"] == '"2"'


def test_a_server_that_ignores_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10", num_filler=FILLER)
    server.honours_ranges = False
    server.fail(path, cut_at(100_000))
    fetch(server, tmp_path)
    assert files_in(tmp_path) == {"38_series/38331-j10.zip": server.files[path].data}


@pytest.mark.parametrize("etag", [None, 'W/"1"'])
def test_without_a_strong_validator_nothing_is_continued(server: Server, tmp_path: Path, etag: str | None) -> None:
    path = server.add("38.331", "j10", num_filler=FILLER)
    server.files[path].etag = etag
    server.fail(path, cut_at(100_000))
    fetch(server, tmp_path)
    assert [headers.get("Range") for headers in server.asked(path)] == [None, None]
    assert files_in(tmp_path) == {"38_series/38331-j10.zip": server.files[path].data}


def test_a_range_that_is_not_the_one_asked_for_is_not_appended(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10", num_filler=FILLER)
    data = server.files[path].data

    def wrong_range(handler: Handler) -> None:
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes 0-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    server.fail(path, cut_at(100_000), wrong_range)
    fetch(server, tmp_path)
    assert files_in(tmp_path) == {"38_series/38331-j10.zip": data}


def test_503_and_429_are_tried_again_for_listings_and_files(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10")
    server.fail(path, status(503), status(429, Retry_After="0"))
    server.fail(f"{ARCHIVE}/38_series/38.331/", status(500), lambda handler: handler.drop())
    assert fetch(server, tmp_path).outcomes == {"new": 1}


def test_a_wait_longer_than_we_have_ends_the_walk_at_once(server: Server, tmp_path: Path) -> None:
    for spec in ("38.211", "38.212", "38.213"):
        server.add(spec, "j10")
    server.fail(f"{ARCHIVE}/38_series/38.212/", status(503, Retry_After="86400"))
    with pytest.raises(ArtifactError, match="asks to wait 86,400 s"):
        fetch(server, tmp_path, num_parallel=1)
    assert list(files_in(tmp_path)) == ["38_series/38211-j10.zip"]
    folders = [path for path, _ in server.requests if path.endswith("/")][2:]
    assert folders == [f"{ARCHIVE}/38_series/38.211/", f"{ARCHIVE}/38_series/38.212/"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zip_bytes("text", FILLER)[:-1000], "damaged"),
        (zip_bytes("text" * 99).replace(b"texttext", b"texttexx", 1), "damaged"),
        (b"<!DOCTYPE html><html>Please accept our terms</html>", "not_a_zip"),
        (b"%PDF-1.7", "not_a_zip"),
        (b"", "damaged"),
    ],
    ids=["truncated", "flipped", "web page", "pdf", "empty"],
)
def test_what_is_no_whole_zip_file_is_a_failure_by_name_and_all_else_is_kept(
    server: Server, tmp_path: Path, data: bytes, reason: str
) -> None:
    path = server.add("38.331", "j10")
    server.add("38.211", "j10")
    server.files[path] = Served(data)
    done = fetch(server, tmp_path)
    assert list(files_in(tmp_path)) == ["38_series/38211-j10.zip"]
    assert done.outcomes == {"new": 1, "failed": 1}
    assert manifest_of(tmp_path)["failures"]["38.331"]["reason"] == reason
    # A file that is wrong at the server is not asked for again and again.
    assert len(server.asked(path)) == 1
    # Nothing of it is continued by the next run, which finds it mended.
    server.files[path] = Served(zip_bytes("mended"))
    assert fetch(server, tmp_path).outcomes == {"kept": 1, "new": 1}
    assert manifest_of(tmp_path)["failures"] == {}


def test_a_block_page_is_a_failure_and_not_a_specification_without_versions(server: Server, tmp_path: Path) -> None:
    server.add("38.331", "j10")
    server.add("38.211", "j10")
    server.fail(f"{ARCHIVE}/38_series/38.331/", status(200))
    done = fetch(server, tmp_path)
    assert done.manifest.failures["38.331"].reason == "no_listing"
    assert done.outcomes == {"new": 1, "failed": 1}


def test_redirects_stay_with_the_server(server: Server, tmp_path: Path) -> None:
    moved, stolen = server.add("38.331", "j10"), server.add("38.211", "j10")
    server.files["/moved.zip"] = server.files[moved]
    server.fail(moved, status(302, Location=f"{server.host}/moved.zip"))
    server.fail(stolen, status(302, Location=f"http://localhost:{server.server_address[1]}/moved.zip"))
    done = fetch(server, tmp_path)
    assert list(files_in(tmp_path)) == ["38_series/38331-j10.zip"]
    assert done.manifest.failures["38.211"].reason == "redirect"


def test_a_server_that_is_gone_ends_the_walk_instead_of_failing_each_in_turn(server: Server, tmp_path: Path) -> None:
    for number in range(20):
        server.add(f"38.2{number:02}", "j10")
        server.fail(f"{ARCHIVE}/38_series/38.2{number:02}/", *[status(503)] * 6)
    with pytest.raises(ArtifactError, match="tried 6 times"):
        fetch(server, tmp_path, num_parallel=1)
    assert len({path for path, _ in server.requests if "/38.2" in path}) == 4


def test_failures_with_answers_between_them_do_not_end_the_walk(server: Server, tmp_path: Path) -> None:
    for number in range(11):
        folder = server.add(f"38.2{number:02}", "j10").rpartition("/")[0] + "/"
        # Never four in a row: one that is there, or one that is refused, shows that the server is alive.
        faults = {3: [], 7: [status(403)]}.get(number, [status(503)] * 6)
        server.fail(folder, *faults)
    assert fetch(server, tmp_path, num_parallel=1).outcomes == {"new": 1, "failed": 10}


def test_a_server_that_was_never_there_is_one_failure(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="tried 6 times"):
        fetch_archive(
            Request(19, "http://127.0.0.1:1/archive", rate_per_s=1000.0, first_wait_s=0.001), tmp_path, Progress()
        )


def test_the_client_says_who_it_is_and_wants_the_bytes_of_the_file(server: Server, tmp_path: Path) -> None:
    path = server.add("38.331", "j10")
    fetch(server, tmp_path)
    (headers,) = server.asked(path)
    assert headers["User-Agent"].startswith("teleembed_ray/")
    assert headers["User-Agent"].endswith(" (+fetch)")
    assert headers["Accept-Encoding"] == "identity"


def test_no_more_requests_are_under_way_than_asked_for(server: Server, tmp_path: Path) -> None:
    for number in range(12):
        server.add(f"38.2{number:02}", "j10")
    fetch(server, tmp_path, num_parallel=3)
    assert len(files_in(tmp_path)) == 12
    assert server.most_at_once <= 3


def test_two_fetches_into_one_folder_do_not_meet(server: Server, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(ConfigError, match="another `teleembed fetch` works in there"):
        fetch(server, tmp_path)


def test_a_damaged_manifest_is_not_written_over(server: Server, tmp_path: Path) -> None:
    server.add("38.331", "j10")
    (tmp_path / "manifest.json").write_text('{"files": {"a": 1}}')
    with pytest.raises(ArtifactError, match=r"manifest\.json: is no manifest"):
        fetch(server, tmp_path)
    assert (tmp_path / "manifest.json").read_text() == '{"files": {"a": 1}}'


def test_an_unfinished_walk_goes_on_but_not_past_files_that_are_gone(server: Server, tmp_path: Path) -> None:
    for spec in ("38.211", "38.212", "38.213"):
        server.add(spec, "j10")
    server.add("38.214", "i10")
    server.fail(f"{ARCHIVE}/38_series/38.213/", status(404))
    fetch(server, tmp_path)
    (tmp_path / "38_series" / "38212-j10.zip").unlink()
    server.requests.clear()
    done = fetch(server, tmp_path)
    folders = sorted(path.split("/")[-2] for path, _ in server.requests if path.endswith("/") and ".2" in path)
    assert folders == ["38.212", "38.213"]
    assert done.outcomes == {"kept": 1, "absent": 1, "new": 2}
    # It is complete now: the next walk looks at all again.
    server.requests.clear()
    fetch(server, tmp_path)
    assert len([path for path, _ in server.requests if path.endswith("/") and ".2" in path]) == 4
