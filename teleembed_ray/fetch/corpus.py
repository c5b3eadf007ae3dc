"""What a fetch prints at its end: the lines that make a corpus of the folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def corpus_lines(name: str, folder: Path, **settings: Any) -> str:
    """Return the `corpora` lines of a configuration for one folder."""
    corpus: Mapping[str, Any] = {"path": str(folder.absolute()), **settings}
    return yaml.safe_dump(
        {"corpora": {name: dict(corpus)}}, sort_keys=False, width=1000, allow_unicode=True, default_flow_style=None
    ).rstrip()
