"""Automatic numbers: the counters of numbering.xml, and the label that Word would show before a paragraph.

All lists made of one abstract definition count together, as in Word; a list with a start of its own (w:startOverride)
begins there when it is first used.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from teleembed_ray.documents.docx.names import VAL, as_int, is_on, w

BULLET_LABEL = "- "
NUM_LEVELS = 9
# What Word puts between number and text; a typed number in a specification is followed by a tab too.
_SUFFIXES = {"tab": "\t", "space": " ", "nothing": ""}
_PLACEHOLDER = re.compile("%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
# Beyond these Word itself shows nothing sensible, and a damaged file must not make a label of megabytes.
_MAX_LETTERS = 780
_MAX_ROMAN = 32767


def roman(number: int) -> str:
    """Return a number in lower-case Roman numerals; outside of 1 to 32767 in decimal ones."""
    if not 1 <= number <= _MAX_ROMAN:
        return str(number)
    text = ""
    for value, sign in _ROMAN:
        text += sign * (number // value)
        number %= value
    return text + _ROMAN_ONES[number]


def letters(number: int) -> str:
    """Return a number as Word's letters: a to z, then aa, bb to zz, then aaa; outside of 1 to 780 in digits."""
    if not 1 <= number <= _MAX_LETTERS:
        return str(number)
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_FORMATS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "lowerLetter": letters,
    "upperLetter": lambda number: letters(number).upper(),
    "lowerRoman": roman,
    "upperRoman": lambda number: roman(number).upper(),
    "ordinal": ordinal,
    "none": lambda number: "",
}


@dataclass(frozen=True)
class Level:
    """How one level of a list counts and looks; `width` is the least number of digits."""

    number_format: str = "decimal"
    text: str = ""
    suffix: str = "\t"
    start: int = 1
    # Restarts after a level of this depth or above; 0 means never, None after any level above.
    restart: int | None = None
    is_legal: bool = False
    style_id: str = ""
    width: int = 1

    def format(self, number: int) -> str:
        """Return the number as this level shows it; formats of other scripts are shown in digits."""
        convert = _FORMATS.get(self.number_format)
        return f"{number:0{self.width}}" if convert is None else convert(number)


@dataclass
class _Counters:
    """The state of one abstract definition."""

    values: list[int | None] = field(default_factory=lambda: [None] * NUM_LEVELS)
    # Lists and levels that have begun at a start of their own.
    overridden: set[tuple[str, int]] = field(default_factory=set)


@dataclass(frozen=True)
class _List:
    """One w:num: its abstract definition, its levels with what it overrides, and its own starts."""

    abstract_id: str
    levels: dict[int, Level]
    starts: dict[int, int]


class Numbering:
    """The lists of a document and how far each has counted."""

    def __init__(self, lists: dict[str, _List]) -> None:
        self._lists = lists
        self._counters: dict[str, _Counters] = {}

    def level_of_style(self, num_id: str, style_id: str) -> int | None:
        """Return the level that a list keeps for a style, or None."""
        levels = self._lists[num_id].levels if num_id in self._lists else {}
        return next((number for number, level in levels.items() if style_id and level.style_id == style_id), None)

    def next_label(self, num_id: str, level_number: int) -> str | None:
        """Count one paragraph and return its label with what separates it from the text; None where it has no list."""
        found = self._lists.get(num_id)
        if found is None or not 0 <= level_number < NUM_LEVELS:
            return None
        values = self._count(num_id, found, level_number)
        level = found.levels.get(level_number)
        if level is None:
            return ""
        if level.number_format == "bullet":
            return BULLET_LABEL

        def number_of(match: re.Match[str]) -> str:
            index = int(match[1]) - 1
            shown = found.levels.get(index, Level())
            value = values[index] if values[index] is not None else shown.start
            return str(value) if level.is_legal and shown.number_format != "none" else shown.format(value or 0)

        label = _PLACEHOLDER.sub(number_of, level.text)
        return label + level.suffix if label.strip() else ""

    def _count(self, num_id: str, found: _List, level_number: int) -> list[int | None]:
        counters = self._counters.setdefault(found.abstract_id, _Counters())
        values = counters.values

        def start_of(index: int) -> int:
            return found.starts.get(index, found.levels.get(index, Level()).start)

        # A level that was skipped counts as begun: a first heading on the second level is 1.1.
        for index in range(level_number):
            if values[index] is None:
                values[index] = start_of(index)
        value = values[level_number]
        key = (num_id, level_number)
        if value is None or (level_number in found.starts and key not in counters.overridden):
            values[level_number] = start_of(level_number)
            counters.overridden.add(key)
        else:
            values[level_number] = value + 1
        for index in range(level_number + 1, NUM_LEVELS):
            restart = found.levels.get(index, Level()).restart
            if restart is None or level_number < restart:
                values[index] = None
        return values


def _value(element: Any, name: str) -> str | None:
    found = element.find(w(name))
    return None if found is None else found.get(VAL, "")


def _read_level(element: Any) -> Level:
    # A custom format stands in alternative contents, with a plain one for old readers.
    number_format = next(element.iter(w("numFmt")), None)
    name = "decimal" if number_format is None else number_format.get(VAL, "decimal")
    example = "" if number_format is None else number_format.get(w("format"), "").partition(",")[0]
    start = as_int(_value(element, "start"))
    return Level(
        number_format="bullet" if element.find(w("lvlPicBulletId")) is not None else name,
        text=_value(element, "lvlText") or "",
        suffix=_SUFFIXES.get(_value(element, "suff") or "tab", "\t"),
        # Word counts from 0 where a level names no start.
        start=0 if start is None else start,
        restart=as_int(_value(element, "lvlRestart")),
        is_legal=any(is_on(legal.get(VAL)) for legal in element.iterfind(w("isLgl"))),
        style_id=_value(element, "pStyle") or "",
        width=len(example) if name == "custom" and example.isdigit() else 1,
    )


def _read_levels(element: Any) -> dict[int, Level]:
    return {
        number: _read_level(level)
        for level in element.iterfind(w("lvl"))
        if (number := as_int(level.get(w("ilvl")))) is not None
    }


def read_numbering(root: Any, list_of_style: dict[str, str]) -> Numbering:
    """numbering.xml -> Numbering; `list_of_style` gives the w:numId of each style, which a definition may refer to."""
    if root is None:
        return Numbering({})
    abstracts = {abstract.get(w("abstractNumId"), ""): abstract for abstract in root.iterfind(w("abstractNum"))}
    abstract_of = {num.get(w("numId"), ""): _value(num, "abstractNumId") or "" for num in root.iterfind(w("num"))}

    def resolve(abstract_id: str) -> str:
        """Follow references to a style's list; a circle of them ends where it began."""
        for _ in range(len(abstracts)):
            link = _value(abstracts[abstract_id], "numStyleLink") if abstract_id in abstracts else None
            target = abstract_of.get(list_of_style.get(link or "", ""))
            if target is None:
                break
            abstract_id = target
        return abstract_id

    levels_of = {abstract_id: _read_levels(abstract) for abstract_id, abstract in abstracts.items()}
    lists = {}
    for num in root.iterfind(w("num")):
        num_id = num.get(w("numId"), "")
        abstract_id = resolve(abstract_of[num_id])
        levels = dict(levels_of.get(abstract_id, {}))
        starts: dict[int, int] = {}
        for override in num.iterfind(w("lvlOverride")):
            number = as_int(override.get(w("ilvl")))
            if number is None:
                continue
            for level in override.iterfind(w("lvl")):
                kept_style = levels.get(number, Level()).style_id
                own = _read_level(level)
                levels[number] = own if own.style_id else replace(own, style_id=kept_style)
            start = as_int(_value(override, "startOverride"))
            if start is not None:
                starts[number] = start
        lists[num_id] = _List(abstract_id, levels, starts)
    # Zero switches numbering off.
    lists.pop("0", None)
    return Numbering(lists)
