"""Trees from real repositories on this disk: what is recorded, what does not run, what stands in the way."""

import hashlib
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from teleembed_ray.cli import main
from teleembed_ray.config import CorpusConfig
from teleembed_ray.errors import ArtifactError, ConfigError
from teleembed_ray.fetch import git as fetch_git
from teleembed_ray.fetch.git import Fetched, checked_ref, checked_url, fetch_tree, public_url, repository_name
from teleembed_ray.progress import Progress


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "protocol.file.allow=always"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(repository: Path, path: str, text: str) -> str:
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "change")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "stack.git"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "lib/mac.cc", "int mac();\n")
    git(folder, "tag", "-a", "-m", "first", "v1")
    commit(folder, "lib/rlc.cc", "int rlc();\n")
    git(folder, "tag", "v2")
    return folder


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "into"


def fetch(repository: Path, ref: str, into: Path, submodules: bool = False) -> Fetched:
    return fetch_tree(f"file://{repository}", ref, into, submodules, Progress())


def manifest_of(into: Path) -> dict[str, Any]:
    return dict(json.loads((into / "manifest.json").read_text()))


def test_an_annotated_tag_gives_its_commit_and_its_files_only(repository: Path, into: Path) -> None:
    fetched = fetch(repository, "v1", into)
    assert fetched.path == "stack-v1"
    assert sorted(path.name for path in (into / "stack-v1").rglob("*")) == ["lib", "mac.cc"]
    record = manifest_of(into)["trees"]["stack-v1"]
    assert record["commit"] == git(repository, "rev-parse", "v1^{commit}") != git(repository, "rev-parse", "v1")
    assert (record["kind"], record["num_files"], record["num_bytes"]) == ("tag", 1, len("int mac();\n"))
    content = hashlib.sha256(b"int mac();\n").hexdigest()
    assert record["digest"] == hashlib.sha256(f"lib/mac.cc\0{content}\0".encode()).hexdigest()


def test_a_commit_is_fetched_by_its_hash(repository: Path, into: Path) -> None:
    first = git(repository, "rev-parse", "v1^{commit}")
    fetched = fetch(repository, first, into)
    assert (fetched.record.kind, fetched.record.commit) == ("commit", first)
    assert not (into / fetched.path / "lib" / "rlc.cc").exists()
    with pytest.raises(ArtifactError, match="needs all its 40 digits"):
        fetch(repository, first[:10], into)


def test_a_branch_moves_and_its_earlier_tree_stays(repository: Path, into: Path) -> None:
    notes = io.StringIO()
    before = fetch_tree(f"file://{repository}", "main", into, False, Progress(notes))
    assert "main is a branch, and moves" in notes.getvalue()
    commit(repository, "lib/pdcp.cc", "int pdcp();\n")
    after = fetch(repository, "main", into)
    assert before.path == f"stack-main-{before.record.commit[:10]}" != after.path
    assert sorted(manifest_of(into)["trees"]) == sorted([before.path, after.path])
    assert not (into / before.path / "lib" / "pdcp.cc").exists()
    assert (into / after.path / "lib" / "pdcp.cc").exists()


def test_a_tag_goes_before_a_branch_of_the_same_name(repository: Path, into: Path) -> None:
    git(repository, "branch", "v1", "main")
    assert fetch(repository, "v1", into).record.commit == git(repository, "rev-parse", "refs/tags/v1^{commit}")


def test_a_second_run_changes_nothing(repository: Path, into: Path) -> None:
    fetch(repository, "v1", into)
    before = (into / "manifest.json").read_bytes()
    assert fetch(repository, "v1", into).was_there
    assert (into / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("change", ["edit", "add", "remove", "link"])
def test_a_tree_that_was_changed_here_is_not_written_over(repository: Path, into: Path, change: str) -> None:
    tree = into / fetch(repository, "v1", into).path
    file = tree / "lib" / "mac.cc"
    if change == "edit":
        file.write_text("mine\n")
    elif change == "add":
        (tree / "mine").touch()
    else:
        file.unlink()
    if change == "link":
        file.symlink_to("/etc/hostname")
    with pytest.raises(ArtifactError, match="was changed since it was fetched"):
        fetch(repository, "v1", into)
    assert change != "edit" or file.read_text() == "mine\n"


def test_a_tag_that_moved_is_said_and_not_followed(repository: Path, into: Path) -> None:
    fetch(repository, "v1", into)
    git(repository, "tag", "-f", "v1", "main")
    with pytest.raises(ArtifactError, match="move the folder away to fetch the new one"):
        fetch(repository, "v1", into)
    assert not (into / "stack-v1" / "lib" / "rlc.cc").exists()


def test_a_folder_that_was_not_fetched_is_left_alone(repository: Path, into: Path) -> None:
    (into / "stack-v1").mkdir(parents=True)
    with pytest.raises(ArtifactError, match="was not fetched: move it away"):
        fetch(repository, "v1", into)


def test_what_a_killed_run_left_is_no_hindrance(repository: Path, into: Path) -> None:
    # Killed in the middle of a transfer, and between the record and the rename.
    half = into / ".stack-v1.part" / ".git"
    half.mkdir(parents=True)
    (half / "shallow.lock").touch()
    fetch(repository, "v1", into)
    (into / "stack-v1").rename(into / ".stack-v1.part")
    assert not fetch(repository, "v1", into).was_there
    assert (into / "stack-v1" / "lib" / "mac.cc").exists()
    assert sorted(path.name for path in into.iterdir() if path.name != ".fetch.lock") == ["manifest.json", "stack-v1"]


def test_no_hook_runs_and_no_link_comes_along(
    repository: Path, into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (hooks / "post-checkout").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(hooks.parent))
    (repository / "outside").symlink_to("/etc/hostname")
    (repository / "twin.cc").symlink_to("lib/mac.cc")
    (repository / "folder").symlink_to("lib")
    commit(repository, "new.cc", "int x;\n")
    git(repository, "tag", "v3")
    # The witness: with plain git the hook runs.
    subprocess.run(["git", "clone", "-q", str(repository), str(tmp_path / "plain")], check=True, capture_output=True)
    assert ran.exists()
    ran.unlink()
    fetch(repository, "v3", into)
    assert not ran.exists()
    assert sorted(path.name for path in (into / "stack-v3").iterdir()) == ["lib", "new.cc"]


def test_submodules_come_when_asked_for_and_never_from_this_disk(
    repository: Path, into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    commit(inner, "secret.md", "of this machine\n")
    git(repository, "submodule", "add", "-q", str(inner), "inner")
    git(repository, "commit", "-qm", "submodule")
    git(repository, "tag", "v4")
    # A user's own permission must not open it.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    with pytest.raises(ArtifactError, match="git submodule failed"):
        fetch(repository, "v4", into, submodules=True)
    assert [path.name for path in into.iterdir() if path.name != ".fetch.lock"] == []
    fetch(repository, "v4", into)
    assert list((into / "stack-v4" / "inner").iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch x",
        "-u",
        "ext::sh -c id",
        "fd::3",
        "https::x",
        "ftp://host/x",
        "nowhere",
        "",
        "a\nb",
        "x://y",
    ],
)
def test_an_address_that_could_be_an_option_or_a_command_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        checked_url(url)


@pytest.mark.parametrize("url", ["https://host/o/n.git", "ssh://git@host/o/n", "git@host:o/n.git", "HTTPS://host/n"])
def test_addresses_as_people_write_them_are_taken(url: str) -> None:
    assert checked_url(url) == url


@pytest.mark.parametrize(
    "ref",
    ["", "-x", "--upload-pack=x", "a..b", "a b", "a:b", "a^{}", "a~1", "../x", "/x", "x/", "a.lock", "@{-1}"],
)
def test_a_ref_that_is_no_plain_name_is_refused(ref: str) -> None:
    with pytest.raises(ConfigError, match="--ref"):
        checked_ref(ref)


def test_a_slash_in_a_ref_makes_no_folder(repository: Path, into: Path) -> None:
    git(repository, "tag", "release/23.11")
    assert fetch(repository, "release/23.11", into).path == "stack-release-23.11"


def test_names_and_tokens_in_addresses() -> None:
    assert repository_name("https://host/owner/srsRAN_4G.git/") == "srsRAN_4G"
    assert repository_name("git@host:owner/name.git") == "name"
    assert repository_name("https://host/..") == "repository"
    assert public_url("https://user:token@host:8443/x.git") == "https://host:8443/x.git"


def test_a_token_is_in_no_error_and_no_git_config(into: Path) -> None:
    with pytest.raises(ArtifactError) as caught:
        fetch_tree("http://user:topsecret@127.0.0.1:1/x.git", "v1", into, False, Progress())
    assert "topsecret" not in str(caught.value)
    assert "127.0.0.1:1/x.git" in str(caught.value)


def test_an_unknown_ref_names_those_that_are_there(repository: Path, into: Path) -> None:
    with pytest.raises(ArtifactError, match="has no tag or branch v9; its latest tags: v1, v2"):
        fetch(repository, "v9", into)


def test_without_git_it_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as caught:
        main(["fetch", "git", "https://host/x.git", "--ref", "v1", "--into", str(tmp_path / "into")])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: git: is not installed here: install it (apt install git), or unpack the code by hand"
    ]
    assert not (tmp_path / "into").exists()


def test_a_git_that_hangs_is_stopped(
    repository: Path, into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs) + os.pathsep + os.environ["PATH"])
    monkeypatch.setattr(fetch_git, "LOOK_TIMEOUT_S", 0.2)
    with pytest.raises(ArtifactError, match="git took more than"):
        fetch(repository, "v1", into)


def test_the_printed_lines_are_a_corpus_of_code(
    repository: Path, into: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["fetch", "git", str(repository), "--ref", "v2", "--into", str(into)])
    assert caught.value.code == 0
    corpora = yaml.safe_load(capsys.readouterr().out)["corpora"]
    corpus = CorpusConfig.model_validate(corpora["stack"])
    assert (corpus.path, corpus.separators) == (str(into / "stack-v2"), "code")
    assert "**/*.cc" in corpus.include
