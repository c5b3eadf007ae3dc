"""Globs of a corpus by the rules of .gitignore: git itself is the witness."""

import subprocess
from pathlib import Path

import pytest

from teleembed_ray import globs

PATHS = (
    "a.md",
    "a.docx",
    "build/x.c",
    "lib/build/y.c",
    "lib/test/z.c",
    "lib/tests/z.c",
    "test/deep/er/w.c",
    "src/a.c",
    "src/sub/b.c",
    "src/sub/.hidden.c",
    "third_party/x/LICENSE.txt",
    "name with space/a.md",
    "a.MD",
    "build.md",
)
PATTERNS = (
    "**/*",
    "*",
    "*.md",
    "**/*.md",
    "/*.md",
    "src/*",
    "src/*.c",
    "src/**",
    "src/**/*.c",
    "**/test/**",
    "test/**",
    "test",
    "test/",
    "**/test*/**",
    "build/",
    "/build/",
    "build",
    "lib/*/z.c",
    "**/sub/b.c",
    "third_party/",
    "src/?.c",
    "[ab].md",
    "[!a].md",
    "a.d*",
    "name with space/",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_selects_what_git_would_ignore(tmp_path: Path, pattern: str) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(f"{pattern}\n")
    # `--no-index`: paths need not exist, and a tracked file would count as not ignored.
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", "check-ignore", "--no-index", "--stdin"],
        cwd=tmp_path,
        input="\n".join(PATHS),
        capture_output=True,
        text=True,
    )
    assert [path for path in PATHS if globs.matches(path, pattern)] == done.stdout.splitlines()


def test_braces_stand_for_either() -> None:
    found = [path for path in PATHS if globs.matches(path, "**/*.{md,docx}")]
    assert found == ["a.md", "a.docx", "name with space/a.md", "build.md"]
    assert globs.matches("lib/test/z.c", "**/{test,tests}/**")


def test_hidden_files_and_words_lock_files_are_never_selected() -> None:
    for path in (".git/config", "a/.cache/b.md", "specs/~$draft.docx"):
        assert not globs.selects(path, ["**/*"], [])
    assert globs.selects("a/b.md", ["*.md"], ["test/"])
    assert not globs.selects("a/test/b.md", ["*.md"], ["test/"])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", "is empty"),
        ("/", "is empty"),
        ("!*.md", "under exclude"),
        ("../other/*.md", "corpus folder"),
        ("./*.md", "corpus folder"),
        ("{1..99999999}", "no pattern"),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "no pattern"),
    ],
)
def test_what_is_no_pattern_is_named(pattern: str, expected: str) -> None:
    assert expected in str(globs.problem(pattern))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_good_patterns_have_no_problem(pattern: str) -> None:
    assert globs.problem(pattern) is None
