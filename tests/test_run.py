"""The whole run with the real models: broken and unbroken, one actor and two, and its numbers worked out again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.ray, pytest.mark.models]

CONFIG = """
lake: {folder}/lake
seed: 3
demo: {{folder: {folder}/documents, num_documents: 1, seed: 5}}
corpora:
  fronthaul: {{path: {folder}/documents/fronthaul}}
  core: {{path: {folder}/documents/core}}
  stack: {{path: {folder}/documents/stack, separators: code}}
chunk: {{sizes: [512]}}
pairs:
  per_cell: 2
  batch_size: 2
  max_chunk_chars: 800
  generator: {{model: "embedded:SmolLM2-135M-Instruct", max_tokens: 24, dtype: bfloat16}}
  validator: {{model: "embedded:gemma-3-270m", style: few_shot, dtype: bfloat16}}
embed: {{models: [minilm]}}
index: {{shard_rows: 10}}
report: {{folder: {folder}/report}}
"""


def write_config(folder: Path) -> Path:
    path = folder / "run.yaml"
    path.write_text(CONFIG.format(folder=folder))
    # A second model that costs little: the same weights under another card.
    card = (Path(__file__).parents[1] / "configs" / "models" / "minilm.yaml").read_text()
    (folder / "models").mkdir()
    (folder / "models" / "other.yaml").write_text(card.replace("name: minilm", "name: other"))
    return path


def start(config: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "teleembed_ray.cli", "run", "--config", str(config), *options]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def finish(config: Path, *options: str) -> str:
    process = start(config, *options)
    _, log = process.communicate(timeout=600)
    assert process.returncode == 0, log
    return log


def manifests(folder: Path) -> dict[str, dict[str, object]]:
    """Manifest of each partition, by its path below the lake."""
    found = {}
    for path in sorted((folder / "lake").rglob("_manifest.json")):
        if "_parts" not in path.parts:
            found[str(path.parent.relative_to(folder / "lake"))] = json.loads(path.read_text())
    return found


def contents(folder: Path) -> dict[str, object]:
    return {path: manifest["content_hash"] for path, manifest in manifests(folder).items()}


def read(folder: Path, table: str) -> pa.Table:
    files = sorted((folder / "lake" / table).rglob("*.parquet"))
    return pa.concat_tables([pq.ParquetFile(file).read() for file in files])


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    finish(write_config(folder))
    return folder


def test_the_second_run_does_nothing_says_so_and_starts_no_ray(unbroken: Path) -> None:
    before = contents(unbroken)
    started = time.monotonic()
    log = finish(unbroken / "run.yaml")
    assert "nothing to do" in log
    assert "ray:" not in log
    assert time.monotonic() - started < 120
    assert contents(unbroken) == before


def test_a_new_model_computes_its_own_cells_only(unbroken: Path) -> None:
    before = {path: (unbroken / "lake" / path / "_manifest.json").stat().st_mtime_ns for path in manifests(unbroken)}
    finish(unbroken / "run.yaml", "--set", "embed.models=[minilm, other]")
    after = {path: (unbroken / "lake" / path / "_manifest.json").stat().st_mtime_ns for path in manifests(unbroken)}
    assert {path for path in before if before[path] != after[path]} == {"reports"}
    new = set(after) - set(before)
    assert new
    assert all("model=other" in path for path in new)


@pytest.mark.parametrize("sign", ["chunk: ", "pairs: ", "retrieve: "])
def test_killed_in_the_middle_and_started_again_ends_with_the_same_tables(
    unbroken: Path, tmp_path: Path, sign: str
) -> None:
    config = write_config(tmp_path)
    process = start(config)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(sign) and "to compute" in line:
            # Into the work of that stage, not before it.
            time.sleep(0.0 if sign == "chunk: " else 2.0)
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    finish(config)
    assert contents(tmp_path) == {
        path: value for path, value in contents(unbroken).items() if "model=other" not in path
    }


def test_two_actors_make_the_same_tables_as_one(unbroken: Path, tmp_path: Path) -> None:
    # The engines leave half a core: a task that Ray gives a whole one would wait for ever.
    two = dict.fromkeys(("embed", "generator", "validator"), "{num_actors: 2, num_cpus: 0.375}")
    options = [f"--set=resources.{name}={value}" for name, value in two.items()]
    finish(write_config(tmp_path), *options, "--set=resources.num_cpus=2")
    assert contents(tmp_path) == {
        path: value for path, value in contents(unbroken).items() if "model=other" not in path
    }


def test_scores_worked_out_again_with_numpy(unbroken: Path) -> None:
    pairs, rankings = read(unbroken, "pairs").to_pylist(), read(unbroken, "rankings").to_pylist()
    gold = {pair["question_id"]: pair for pair in pairs}
    ranks: dict[tuple[object, ...], dict[str, float]] = {}
    for row in rankings:
        wanted = gold[row["question_id"]]["chunk_id"]
        rank = row["chunk_ids"].index(wanted) + 1 if wanted in row["chunk_ids"] else np.inf
        key = (row["model"], row["corpus"], row["chunk_size"], row["strategy"])
        ranks.setdefault(key, {})[row["question_id"]] = rank
    num_checked = 0
    for score in read(unbroken, "scores").to_pylist():
        key = (score["model"], score["corpus"], score["chunk_size"], score["strategy"])
        if score["metric"] not in ("accuracy", "mrr") or key not in ranks:
            continue
        asked = [name for name in ranks[key] if score["subset"] == "main" or gold[name]["clean"]]
        found = np.array([ranks[key][name] for name in asked])
        values = (found == 1) if score["metric"] == "accuracy" else np.where(found <= 5, 1 / found, 0)
        if len(asked):
            assert abs(score["value"] - values.mean()) < 1e-9
            assert score["low"] <= score["value"] <= score["high"]
        else:
            assert score["value"] is None
        assert score["n"] == len(asked)
        num_checked += 1
    # Two metrics, three corpora, two strategies, two subsets.
    assert num_checked >= 2 * 3 * 2 * 2


def test_strategy_c_equals_one_flat_index_over_everything(unbroken: Path) -> None:
    vectors = [row for row in read_vectors(unbroken) if row["model"] == "minilm" and row["chunk_size"] == 512]
    chunks = sorted((row["id"], row["vector"]) for row in vectors if row["kind"] == "chunk")
    questions = {row["id"]: row["vector"] for row in vectors if row["kind"] == "question"}
    matrix = np.array([vector for _, vector in chunks], np.float64)
    ids = [name for name, _ in chunks]
    rankings = [
        row
        for row in read(unbroken, "rankings").to_pylist()
        if row["strategy"] == "C" and row["chunk_size"] == 512 and row["model"] == "minilm"
    ]
    assert rankings
    for row in rankings:
        scores = (matrix * np.array(questions[row["question_id"]], np.float64)).sum(axis=1).astype(np.float32)
        order = sorted(range(len(ids)), key=lambda n: (-scores[n], ids[n]))[:100]
        assert row["chunk_ids"] == [ids[n] for n in order]
        assert np.allclose(row["scores"], scores[order], rtol=0, atol=1e-7)


def read_vectors(folder: Path) -> list[dict[str, object]]:
    files = sorted((folder / "lake" / "vectors" / "model=minilm").rglob("*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_offsets_hold_for_every_chunk(unbroken: Path) -> None:
    texts = {row["doc_id"]: row["text"] for row in read(unbroken, "documents").to_pylist()}
    chunks = read(unbroken, "chunks").to_pylist()
    assert chunks
    assert all(texts[chunk["doc_id"]][chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)


def test_the_page_is_there_and_can_be_rebuilt_from_the_lake_alone(unbroken: Path) -> None:
    page = unbroken / "report" / "index.html"
    first = page.read_bytes()
    page.unlink()
    command = [sys.executable, "-m", "teleembed_ray.cli", "report", "--config", str(unbroken / "run.yaml")]
    subprocess.run(command, check=True, capture_output=True)
    assert page.read_bytes() == first


REAL_CONFIG = """
lake: {folder}/lake
corpora:
  3gpp: {{path: "{data}/3gpp", include: ["33516-i00.docx", "33519-i00.docx"]}}
  oran: {{path: "{data}/oran", include: ["*Y1GAP*.docx", "*O2-IMS*.docx"]}}
  torch: {{path: "{torch}", separators: code, include: ["c10/util/[A-C]*"]}}
chunk: {{sizes: [512]}}
pairs:
  per_cell: 2
  batch_size: 4
  max_chunk_chars: 800
  generator: {{model: "embedded:SmolLM2-135M-Instruct", max_tokens: 24, dtype: bfloat16}}
  validator: {{model: "embedded:gemma-3-270m", style: few_shot, dtype: bfloat16}}
embed: {{models: [minilm]}}
report: {{folder: {folder}/report}}
"""


@pytest.mark.real
def test_real_specifications_and_headers_give_a_full_report(real_data: Path, tmp_path: Path) -> None:
    import torch

    headers = Path(torch.__file__).parent / "include"
    config = tmp_path / "real.yaml"
    config.write_text(REAL_CONFIG.format(folder=tmp_path, data=real_data, torch=headers))
    finish(config)
    listed = [path for path in (tmp_path / "lake" / "_listings").glob("*.json") for _ in json.loads(path.read_text())]
    rejects = read(tmp_path, "rejects").to_pylist()
    documents = read(tmp_path, "documents").to_pylist()
    rejected = [row for row in rejects if row["stage"] == "ingest"]
    assert len(listed) == len(documents) + len(rejected)
    assert len(documents) > 10
    texts = {row["doc_id"]: row["text"] for row in documents}
    chunks = read(tmp_path, "chunks").to_pylist()
    assert all(texts[chunk["doc_id"]][chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)
    asked = read(tmp_path, "pairs").to_pylist()
    # Which questions so weak a validator accepts is chance; that every corpus was tried is not.
    assert {row["corpus"] for row in read(tmp_path, "candidates").to_pylist()} == {"3gpp", "oran", "torch"}
    assert asked
    assert read(tmp_path, "rankings").num_rows == 2 * len(asked)
    assert "minilm" in (tmp_path / "report" / "index.html").read_text()
