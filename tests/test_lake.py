"""Partitions appear whole or not at all, on a disk and on a real S3 server."""

import pickle
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.lake import MANIFEST, Lake, part_name, partition_path

KEYS = {"corpus": "oran", "chunk_size": 512}
ROWS = pa.table({"chunk_id": ["a", "b", "c"], "text": pa.array(["x", "y", "z"], pa.large_string())})


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = ThreadedMotoServer("127.0.0.1", port)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture(params=["disk", "s3"])
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    if request.param == "disk":
        made = Lake(str(tmp_path / "lake"))
    else:
        import s3fs

        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_endpoint"))
        bucket = f"b{abs(hash(str(tmp_path))) % 10**12}"
        s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True).mkdir(bucket)
        made = Lake(f"s3://{bucket}/runs/lake")
    made.create()
    return made


def publish(lake: Lake, fingerprint: str, *parts: pa.Table) -> None:
    files = [lake.write_part(fingerprint, index, rows) for index, rows in enumerate(parts)]
    lake.publish("chunks", KEYS, fingerprint, {"stage": "chunk"}, files)


def test_a_partition_without_a_manifest_does_not_exist(lake: Lake) -> None:
    lake.write_part("f1", 0, ROWS)
    assert lake.partition("chunks", KEYS) is None
    assert lake.partitions("chunks") == []
    with pytest.raises(ArtifactError, match="--from chunk"):
        lake.require("chunks", KEYS, "chunk")


def test_what_was_published_is_read_back_in_part_order(lake: Lake) -> None:
    publish(lake, "f1", ROWS.slice(0, 1), ROWS.slice(1))
    partition = lake.require("chunks", KEYS, "chunk")
    assert lake.read(partition).equals(ROWS)
    assert partition.num_rows == 3
    assert partition.keys == {"corpus": "oran", "chunk_size": "512"}
    assert lake.is_whole(partition)
    assert lake.parts_done("f1") == {}
    assert [found.path for found in lake.partitions("chunks", {"corpus": "oran"})] == [partition.path]
    assert lake.partitions("chunks", {"corpus": "3gpp"}) == []


def test_the_successor_replaces_all_parts_of_the_partition(lake: Lake) -> None:
    publish(lake, "f1", ROWS, ROWS)
    publish(lake, "f2", ROWS.slice(0, 1))
    partition = lake.require("chunks", KEYS, "chunk")
    assert partition.manifest["fingerprint"] == "f2"
    assert lake.read(partition).equals(ROWS.slice(0, 1))
    assert set(lake.list_names(partition.path)) == {part_name(0), MANIFEST}


def test_while_the_successor_is_computed_the_old_partition_stays_readable(lake: Lake) -> None:
    publish(lake, "f1", ROWS)
    lake.write_part("f2", 0, ROWS.slice(0, 1))
    assert lake.read(lake.require("chunks", KEYS, "chunk")).equals(ROWS)


def test_parts_of_an_interrupted_run_are_found_and_published_with_their_hashes(lake: Lake) -> None:
    publish(lake, "f1", ROWS, ROWS)
    expected = lake.require("chunks", KEYS, "chunk").manifest
    lake.write_part("f1", 0, ROWS)
    lake.write_part("f1", 1, ROWS)
    resumed = [file for files in lake.parts_done("f1").values() for file in files]
    lake.publish("chunks", KEYS, "f1", {"stage": "chunk"}, resumed)
    assert lake.require("chunks", KEYS, "chunk").manifest == expected


def test_an_index_without_its_rows_is_no_finished_part(lake: Lake) -> None:
    lake.write_part_bytes("f1", part_name(0, "faiss"), b"index")
    assert lake.parts_done("f1") == {}
    lake.write_part("f1", 0, ROWS)
    assert [file.name for file in lake.parts_done("f1")[0]] == [part_name(0, "faiss"), part_name(0)]


def test_a_lost_file_is_noticed(lake: Lake) -> None:
    publish(lake, "f1", ROWS, ROWS)
    partition = lake.require("chunks", KEYS, "chunk")
    lake._fs.rm_file(lake._full(f"{partition.path}/{part_name(1)}"))
    assert not lake.is_whole(partition)
    with pytest.raises(ArtifactError, match="part-00001"):
        lake.read(partition)


def test_a_damaged_file_is_named(lake: Lake) -> None:
    publish(lake, "f1", ROWS)
    partition = lake.require("chunks", KEYS, "chunk")
    lake.write_bytes(f"{partition.path}/{part_name(0)}", b"PAR1 this is no table PAR1")
    with pytest.raises(ArtifactError, match=r"part-00000\.parquet is damaged"):
        lake.read(partition)


def test_a_view_shows_only_the_partitions_of_its_benchmark(lake: Lake) -> None:
    publish(lake, "f1", ROWS)
    path = partition_path("chunks", KEYS)
    assert lake.restricted_to({path: "f2"}).partitions("chunks") == []
    assert lake.restricted_to({path: "f2"}).partition("chunks", KEYS) is None
    assert len(lake.restricted_to({path: "f1"}).partitions("chunks")) == 1


def test_a_lake_travels_to_a_worker_by_pickle(lake: Lake) -> None:
    publish(lake, "f1", ROWS)
    copy = pickle.loads(pickle.dumps(lake))  # noqa: S301 (our own bytes)
    assert copy.read(copy.require("chunks", KEYS, "chunk")).equals(ROWS)


def test_a_file_written_elsewhere_after_a_listing_is_seen(lake: Lake) -> None:
    assert not lake.exists("x.json")
    assert lake.list_names("") is not None
    Lake(lake.root).write_bytes("x.json", b"{}")
    assert lake.exists("x.json")
    assert "x.json" in lake.list_names("")


def test_a_lake_of_another_machine_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="is not visible on node"):
        Lake(str(tmp_path / "elsewhere")).check_visible()


def test_a_lake_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="lake:"):
        Lake(str(tmp_path / "file" / "lake")).create()
    with pytest.raises(ConfigError, match="lake:"):
        Lake("nosuch://bucket/lake").create()


def test_any_parquet_reader_sees_published_rows_once(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    publish(lake, "f1", ROWS)
    lake.write_part("f2", 0, ROWS)
    assert ds.dataset(tmp_path / "lake" / "chunks", format="parquet", exclude_invalid_files=True).count_rows() == 3


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    sizes = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            if lake.exists("big"):
                sizes.add(len(lake.read_bytes("big")))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(50):
        lake.write_bytes("big", b"x" * 4_000_000)
    stop.set()
    reader.join()
    assert sizes <= {4_000_000}
    assert sizes


def test_another_file_of_the_same_size_is_not_taken_for_the_part(lake: Lake) -> None:
    publish(lake, "f1", ROWS)
    partition = lake.require("chunks", KEYS, "chunk")
    size = partition.files[0].num_bytes
    lake.write_bytes(f"{partition.path}/{part_name(0)}", b"x" * size)
    assert lake.is_whole(partition)
    with pytest.raises(ArtifactError, match="it is not what was written"):
        lake.read(partition)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"fingerprint": "x"}', "\udcff"])
def test_a_damaged_manifest_is_named_whatever_it_holds(lake: Lake, text: str) -> None:
    publish(lake, "f1", ROWS)
    path = partition_path("chunks", KEYS)
    lake.write_bytes(f"{path}/{MANIFEST}", text.encode("utf-8", "surrogateescape"))
    for look in (lambda: lake.partition("chunks", KEYS), lambda: lake.partitions("chunks")):
        with pytest.raises(ArtifactError, match="is damaged: delete the folder"):
            look()


def test_a_second_run_on_one_lake_is_kept_out_until_the_first_is_over(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.create()
    with (
        lake.locked(),
        pytest.raises(ArtifactError, match="another run is using the lake"),
        Lake(lake.root).locked(),
    ):
        pass
    with Lake(lake.root).locked():
        pass
