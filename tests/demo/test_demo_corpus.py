"""The demo generator: the same bytes each time, files that the readers understand, and no file of anybody else lost."""

import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from teleembed_ray.chunking.tokens import count_tokens
from teleembed_ray.demo import __main__, corpus
from teleembed_ray.demo.corpus import write_corpus
from teleembed_ray.demo.prose import build_specification
from teleembed_ray.demo.specification import Figure, Table
from teleembed_ray.demo.vocabulary import CORE, FRONTHAUL, Vocabulary
from teleembed_ray.documents.reader import read_document
from teleembed_ray.errors import ConfigError


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def document_files(seed: int, name: str, index: int) -> dict[str, bytes]:
    return corpus.FILES[name](seed, name, index)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("demo") / "new"
    write_corpus(folder, 2, seed=7)
    return files_of(folder)


def test_a_second_process_with_another_clock_and_hash_seed_writes_the_same_bytes(
    written: dict[str, bytes], tmp_path: Path
) -> None:
    # A zip stores times to two seconds.
    time.sleep(2.1)
    command = [sys.executable, "-m", "teleembed_ray.demo", str(tmp_path / "again"), "--documents", "2", "--seed", "7"]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "99", "TZ": "Asia/Tokyo"})
    assert files_of(tmp_path / "again") == written


def test_growing_and_shrinking_keep_the_bytes_of_the_documents_that_stay(
    written: dict[str, bytes], tmp_path: Path
) -> None:
    write_corpus(tmp_path, 1, seed=7)
    few = files_of(tmp_path)
    write_corpus(tmp_path, 2, seed=7)
    assert files_of(tmp_path) == written
    assert {name: written[name] for name in few if name != "corpus.json"} == {
        name: data for name, data in few.items() if name != "corpus.json"
    }
    write_corpus(tmp_path, 1, seed=7)
    assert files_of(tmp_path) == few


def test_another_seed_replaces_every_document_and_leaves_no_old_one(tmp_path: Path) -> None:
    write_corpus(tmp_path, 1, seed=7)
    before = files_of(tmp_path)
    write_corpus(tmp_path, 1, seed=8)
    after = files_of(tmp_path)
    assert not set(before.values()) & set(after.values())
    assert len(after) == len(before)


def test_what_is_up_to_date_is_not_touched_and_what_was_deleted_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(tmp_path, 1, seed=7)
    before = files_of(tmp_path)
    written: list[tuple[str, int]] = []
    write_document = corpus._write_document

    def watched(folder: Path, seed: int, document: tuple[str, int]) -> None:
        written.append(document)
        write_document(folder, seed, document)

    monkeypatch.setattr(corpus, "_write_document", watched)
    write_corpus(tmp_path, 1, seed=7)
    assert written == []
    next((tmp_path / "core").iterdir()).unlink()
    write_corpus(tmp_path, 1, seed=7)
    assert written == [("core", 0)]
    assert files_of(tmp_path) == before


def test_a_run_that_was_stopped_is_continued_and_has_no_manifest_until_then(
    written: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    write_document = corpus._write_document

    def stopping(folder: Path, seed: int, document: tuple[str, int]) -> None:
        if document == ("core", 1):
            raise KeyboardInterrupt
        write_document(folder, seed, document)

    monkeypatch.setattr(corpus, "_write_document", stopping)
    with pytest.raises(KeyboardInterrupt):
        write_corpus(folder, 2, seed=7)
    monkeypatch.setattr(corpus, "_write_document", write_document)
    assert not (folder / "corpus.json").exists()
    # Even with another seed in between, nothing of the stopped run stays behind.
    write_corpus(folder, 1, seed=9)
    write_corpus(folder, 2, seed=7)
    assert files_of(folder) == written


def test_files_of_others_are_neither_removed_nor_mixed_with_ours(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_bytes(b"mine")
    with pytest.raises(ConfigError, match="holds files that the demo did not write"):
        write_corpus(tmp_path, 1, seed=7)
    assert __main__.main([str(tmp_path)]) == 2
    assert files_of(tmp_path) == {"thesis.docx": b"mine"}


@pytest.mark.parametrize("name", ["../precious.txt", "core/../../precious.txt", "/etc/passwd", "notes/a.txt"])
def test_a_manifest_that_names_files_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (tmp_path / "precious.txt").write_text("precious")
    (folder / "corpus.json").write_text(json.dumps({"version": 0, "seed": 7, "num_documents": 1, "files": [name]}))
    with pytest.raises(ConfigError, match="changed by hand"):
        write_corpus(folder, 1, seed=7)
    assert (tmp_path / "precious.txt").read_text() == "precious"


def test_a_pool_of_processes_writes_the_same(
    written: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "MIN_POOLED_DOCUMENTS", 1)
    write_corpus(tmp_path / "pooled", 2, seed=7)
    assert files_of(tmp_path / "pooled") == written


@pytest.mark.parametrize(
    ("words", "name", "index", "suffix"),
    [(FRONTHAUL, "fronthaul", 0, "docx"), (FRONTHAUL, "fronthaul", 1, "pdf"), (CORE, "core", 2, "md")],
)
def test_each_format_is_read_back_with_its_headings_and_without_tables_running_lines_and_contents(
    words: Vocabulary, name: str, index: int, suffix: str
) -> None:
    ((path, data),) = document_files(7, name, index).items()
    specification = build_specification(words, 7, name, index)
    document = read_document(path, data)
    paragraphs = [paragraph.lstrip("#- ") for paragraph in document.text.split("\n\n")]
    assert path.endswith(suffix)
    assert document.title == f"{specification.number}: {specification.title}"
    for heading in specification.headings:
        # Once: not again as a line of the contents page.
        assert paragraphs.count(heading.text) == 1
    tables = [block for block in specification.blocks if isinstance(block, Table)]
    cells = [cell for table in tables for row in table.rows for cell in row[1:3]]
    assert len(cells) >= 20
    assert not [cell for cell in cells if cell in document.text]
    assert document.num_dropped_chars >= sum(map(len, cells))
    assert specification.header not in document.text
    assert specification.footer not in document.text
    captions = [block.caption for block in specification.blocks if isinstance(block, Figure)]
    assert all(caption in document.text for caption in captions)


def test_docx_pdf_and_markdown_of_one_specification_give_the_same_text() -> None:
    from teleembed_ray.demo.formats import WRITERS

    specification = build_specification(CORE, 3, "core", 5)
    texts = {suffix: read_document(f"a.{suffix}", write(specification)).text for suffix, write in WRITERS.items()}
    body = {suffix: " ".join(text[text.index("1 Scope") :].split()) for suffix, text in texts.items()}
    plain = " ".join(line.lstrip("#- ").strip("*") for line in texts["md"].splitlines())
    assert body["pdf"] == body["docx"] == " ".join(plain[plain.index("1 Scope") :].split())


def test_neighbouring_test_cases_share_most_steps_but_never_all() -> None:
    specification = build_specification(FRONTHAUL, 7, "fronthaul", 0)
    cases: dict[str, list[str]] = {}
    for block in specification.blocks:
        if hasattr(block, "number"):
            steps = cases.setdefault(block.number, [])
        elif hasattr(block, "text") and block.text.startswith("Step "):
            steps.append(block.text)
    numbers = [number for number, steps in cases.items() if number.startswith("7.") and steps]
    pairs = [
        (first, second) for first, second in pairwise(numbers) if first.rsplit(".", 1)[0] == second.rsplit(".", 1)[0]
    ]
    assert len(pairs) >= 6
    for first, second in pairs:
        shared = len(set(cases[first]) & set(cases[second]))
        assert len(cases[first]) == 10
        assert shared == 8


def test_documents_differ_in_what_questions_ask_for() -> None:
    texts = [data for index in range(6) for data in document_files(7, "stack", index).values()]
    assert len(set(texts)) == len(texts)
    timers = [
        {block.text for block in build_specification(CORE, 7, "core", index).blocks if hasattr(block, "text")}
        for index in range(4)
    ]
    shared = set.intersection(*timers)
    # What stands in all documents: headings such as "1 Scope" and a few constant sentences.
    assert len(shared) < 0.15 * min(map(len, timers))


def test_the_three_corpora_are_of_one_size(written: dict[str, bytes]) -> None:
    tokens = dict.fromkeys(corpus.FILES, 0)
    for name, data in written.items():
        if "/" in name:
            tokens[name.split("/")[0]] += count_tokens(read_document(name, data).text)
    assert all(7_000 <= count / 2 <= 11_000 for count in tokens.values()), tokens
