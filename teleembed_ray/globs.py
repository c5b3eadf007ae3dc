"""Globs that select the files of a corpus, by the rules of .gitignore, with braces.

A pattern without a slash matches a name at any depth, one with a slash starts at the corpus folder. A pattern that
matches a folder holds for all that is below it; one that ends in a slash matches folders only. `*`, `?` and `[...]`
stay inside one name, `**` spans folders, `{a,b}` is either. Upper and lower case differ.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from wcmatch import glob

_FLAGS = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX


@lru_cache(maxsize=4096)
def _matcher(pattern: str) -> Any:
    core = pattern.rstrip("/")
    return glob.compile(core.lstrip("/") if "/" in core else f"**/{core}", flags=_FLAGS)


def problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern, or None."""
    if not pattern.strip("/ "):
        return "is empty: name files, for example **/*.docx"
    if pattern.startswith("!"):
        return "starts with '!': name what is to be left out under exclude"
    if {".", ".."} & set(pattern.split("/")):
        return "has a folder '.' or '..' in it: patterns start at the corpus folder"
    try:
        _matcher(pattern)
    except Exception as error:
        # The braces of one short line can stand for billions of patterns.
        return f"is no pattern ({error})"
    return None


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern matches a path, which is relative to the corpus folder, or one of the folders it is in."""
    matcher = _matcher(pattern)
    if not pattern.endswith("/") and matcher.match(path):
        return True
    return any(matcher.match(str(parent)) for parent in PurePosixPath(path).parents if parent.name)


def selects(path: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a path is included, not excluded, and not hidden (a name that starts with "." or Word's "~$")."""
    if any(piece.startswith((".", "~$")) for piece in PurePosixPath(path).parts):
        return False
    return any(matches(path, pattern) for pattern in include) and not any(matches(path, pattern) for pattern in exclude)
