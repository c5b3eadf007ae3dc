"""Numbers of 3GPP specifications, and the version codes in the names of their files.

A file is called <number without the dot>-<version>.zip: 38331-j10.zip is TS 38.331 version 19.1.0, and 23700-14-k00.zip
is TR 23.700-14 version 20.0.0. From Release 4 on, the first field of a version is the release.
"""

import re
from typing import NamedTuple

# Series below 21 count their versions otherwise: GSM specifications before Release 4.
FIRST_SERIES = 21
FIRST_RELEASE = 4
# One base-36 digit is the release in a file name of three characters.
LAST_RELEASE = 35

_SPEC = re.compile(r"(\d\d)\.(\d{3}(?:-[0-9a-z]{1,4})*)")
_SERIES_FOLDER = re.compile(r"(\d\d)_series", re.IGNORECASE)
_VERSION = re.compile(r"[0-9a-z]{3}|\d{6}")


class Version(NamedTuple):
    """A version as 3GPP counts: release, technical changes, editorial changes."""

    release: int
    technical: int
    editorial: int

    def __str__(self) -> str:
        return f"{self.release}.{self.technical}.{self.editorial}"


def parse_spec(text: str) -> str | None:
    """Return a specification's number such as `38.101-1` in lower case, or None where the text is none."""
    spec = text.strip().lower()
    return spec if _SPEC.fullmatch(spec) else None


def series_of_spec(spec: str) -> int:
    """Return the series that a specification's number begins with."""
    return int(spec[:2])


def series_of_folder(name: str) -> int | None:
    """Return 38 for `38_series`, and None for any other name."""
    match = _SERIES_FOLDER.fullmatch(name)
    return int(match[1]) if match else None


def parse_version(code: str) -> Version | None:
    """Return the version that a code of three base-36 digits, or of six decimal ones, stands for.

    Six digits are used where a field is above 35.
    """
    code = code.lower()
    if not _VERSION.fullmatch(code):
        return None
    if len(code) == 6:
        return Version(int(code[:2]), int(code[2:4]), int(code[4:]))
    return Version(*(int(digit, 36) for digit in code))


def version_of_file(spec: str, name: str) -> Version | None:
    """Return the version in a file name of the specification `spec`, and None for a file that is no version of it."""
    prefix, name = spec.replace(".", "") + "-", name.lower()
    if not (name.startswith(prefix) and name.endswith(".zip")):
        return None
    return parse_version(name.removeprefix(prefix).removesuffix(".zip"))
