"""What a reader returns, and what it raises instead."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """The text of one file, without its tables and figures.

    Paragraphs are separated by a blank line. `num_dropped_chars` counts the characters of the tables and figures that
    were left out (TeleEmbedBench, Section III-B), `num_unmapped_chars` those of the text that no font or encoding gave
    a meaning: U+FFFD and private use. `num_image_pages` counts the pages of a PDF that show an image and have no text.
    """

    title: str
    text: str
    format: str
    num_dropped_chars: int
    num_unmapped_chars: int = 0
    num_image_pages: int = 0


class Unreadable(Exception):  # noqa: N818 (it says what the file is)
    """A file that gives no text: `reason` is a short fixed word, `detail` says what is wrong and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
