"""The content of a specification, apart from the format it is written in."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Heading:
    """A clause title; level 1 is a chapter."""

    number: str
    title: str
    level: int

    @property
    def text(self) -> str:
        return f"{self.number} {self.title}"


@dataclass(frozen=True)
class Text:
    """One paragraph."""

    text: str
    kind: Literal["body", "item", "note", "caption"] = "body"


@dataclass(frozen=True)
class Table:
    """A table with a caption above it."""

    caption: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A drawing without labels, and the caption below it."""

    caption: str
    num_lanes: int


Block = Heading | Text | Table | Figure


@dataclass(frozen=True)
class Specification:
    """One document: what stands on its cover, in its running lines, and in its clauses."""

    number: str
    version: str
    title: str
    family: str
    blocks: tuple[Block, ...]

    @property
    def header(self) -> str:
        return f"{self.number} edition {self.version} of the demo collection"

    @property
    def footer(self) -> str:
        return f"{self.family}, invented for demonstration"

    @property
    def headings(self) -> list[Heading]:
        return [block for block in self.blocks if isinstance(block, Heading)]
