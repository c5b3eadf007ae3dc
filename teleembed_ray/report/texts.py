"""Texts of documents and manifests made fit for a page: cut to length, and free of this machine's paths."""

import re

# A path from the root of a machine, or of a Windows drive: kept from its last piece on.
MACHINE_PATH = re.compile(r"(?<![\w/:.])(?:[A-Za-z]:[\\/]|/)(?:[^\s/\\\"':;,]+[\\/])+")


def excerpt(text: str, max_chars: int) -> str:
    """Return the text on one line, cut at a word's end to at most `max_chars` characters."""
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    cut = line[: max_chars - 4]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut} ..."


def portable(text: str) -> str:
    """Return the text with machine paths cut to their last piece: where a run took place is nobody's concern."""
    return MACHINE_PATH.sub(".../", text)
