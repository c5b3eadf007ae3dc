"""One file: what a part on the disk is good for, and what a zip file is checked for."""

import asyncio
import json
import zipfile
from pathlib import Path

import pytest
from archive_server import Handler, Served, Server, zip_bytes

from teleembed_ray.fetch import download
from teleembed_ray.fetch.client import Client, FetchError
from teleembed_ray.fetch.download import Download, Receipt, Validators, check_zip

PATH = "/a.zip"
FILLER = 300_000


def run(
    server: Server, folder: Path, listed_bytes: int | None = None, known: Validators | None = None
) -> Receipt | None:
    async def fetch() -> Receipt | None:
        async with Client(server.host, rate_per_s=1000.0, first_wait_s=0.001) as client:
            return await Download(client, server.host + PATH, folder / "a.zip", listed_bytes, known).run()

    return asyncio.run(fetch())


def leave_part(folder: Path, data: bytes, url: str, num_bytes: int, etag: str = '"1"') -> None:
    """Leave on the disk what a killed process leaves."""
    (folder / ".a.zip.part").write_bytes(data)
    state = {"url": url, "etag": etag, "last_modified": None, "num_bytes": num_bytes}
    (folder / ".a.zip.part.json").write_text(json.dumps(state))


def test_a_part_that_is_whole_needs_no_request(server: Server, tmp_path: Path) -> None:
    data = zip_bytes("text")
    leave_part(tmp_path, data, server.host + PATH, len(data))
    receipt = run(server, tmp_path)
    assert receipt is not None
    assert (receipt.num_bytes, receipt.checked) == (len(data), "crc")
    assert server.requests == []
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_part_of_another_address_is_not_continued(server: Server, tmp_path: Path) -> None:
    server.files[PATH] = Served(zip_bytes("text", FILLER))
    data = server.files[PATH].data
    leave_part(tmp_path, data[:1000], f"{server.host}/b.zip", len(data))
    run(server, tmp_path)
    assert [headers.get("Range") for headers in server.asked(PATH)] == [None]
    assert (tmp_path / "a.zip").read_bytes() == data


@pytest.mark.parametrize("state", ["", "{}", '{"url": 1}', "[]"])
def test_a_part_without_a_readable_state_is_not_continued(server: Server, tmp_path: Path, state: str) -> None:
    server.files[PATH] = Served(zip_bytes("text"))
    leave_part(tmp_path, b"PKxx", server.host + PATH, 10)
    (tmp_path / ".a.zip.part.json").write_text(state)
    run(server, tmp_path)
    assert (tmp_path / "a.zip").read_bytes() == server.files[PATH].data


def test_a_server_that_gives_one_etag_to_two_files_costs_a_second_transfer_and_no_mixture(
    server: Server, tmp_path: Path
) -> None:
    server.files[PATH] = Served(zip_bytes("the one there now", FILLER))
    data = server.files[PATH].data
    leave_part(tmp_path, zip_bytes("an earlier one, by the same ETag", FILLER)[:1000], server.host + PATH, len(data))
    run(server, tmp_path)
    assert [headers.get("Range") for headers in server.asked(PATH)] == ["bytes=1000-", None]
    assert (tmp_path / "a.zip").read_bytes() == data


def test_a_server_that_gives_less_than_the_range_asked_for_is_asked_for_the_rest(
    server: Server, tmp_path: Path
) -> None:
    server.files[PATH] = Served(zip_bytes("text", FILLER))
    data = server.files[PATH].data

    def give_less(handler: Handler) -> None:
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes 1000-1999/{len(data)}")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(data[1000:2000])

    leave_part(tmp_path, data[:1000], server.host + PATH, len(data))
    server.fail(PATH, give_less)
    run(server, tmp_path)
    assert [headers.get("Range") for headers in server.asked(PATH)] == ["bytes=1000-", "bytes=2000-"]
    assert (tmp_path / "a.zip").read_bytes() == data


def test_a_size_that_the_listing_gives_to_the_byte_must_be_met(server: Server, tmp_path: Path) -> None:
    server.files[PATH] = Served(zip_bytes("text"))
    size = len(server.files[PATH].data)
    with pytest.raises(FetchError, match=f"has {size} bytes, and the listing says {size + 1}"):
        run(server, tmp_path, listed_bytes=size + 1)
    assert list(tmp_path.iterdir()) == []
    assert run(server, tmp_path, listed_bytes=size) is not None


def test_without_an_etag_the_date_is_asked_about(server: Server, tmp_path: Path) -> None:
    server.files[PATH] = Served(zip_bytes("text"), etag=None)
    run(server, tmp_path, known=Validators(None, "Wed, 12 Jun 2024 15:14:00 GMT"))
    assert server.asked(PATH)[0]["If-Modified-Since"] == "Wed, 12 Jun 2024 15:14:00 GMT"


def test_a_redirect_without_end_is_a_failure(server: Server, tmp_path: Path) -> None:
    server.fail(PATH, *[lambda handler: handler.send_page(302, "", Location=PATH)] * 20)
    with pytest.raises(FetchError, match="without end"):
        run(server, tmp_path)
    assert len(server.requests) == 6


def zip_with(path: Path, flag: int = 0, method: int = 0) -> Path:
    """Write a zip file whose member claims a flag or a packing that Python's writer cannot give it."""
    data = bytearray(zip_bytes("text"))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.index(signature) + offset
        data[start] |= flag
        data[start + 2] = method
    path.write_bytes(data)
    return path


def test_a_password_and_a_packing_unknown_to_python_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="with a password"):
        check_zip(zip_with(tmp_path / "a.zip", flag=1))
    # Deflate64, which Windows uses for large files: nothing is wrong with it, and it cannot be checked.
    assert check_zip(zip_with(tmp_path / "b.zip", method=9)) == "size"
    assert check_zip(zip_with(tmp_path / "c.zip")) == "crc"


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"0" * 5001)
    monkeypatch.setattr(download, "LARGEST_UNPACKED_BYTES", 5000)
    with pytest.raises(FetchError, match="unpacks to more"):
        check_zip(tmp_path / "a.zip")
