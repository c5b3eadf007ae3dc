"""What a person does to get the O-RAN specifications, which a program may not fetch: their licence wants a click."""

from pathlib import Path

from teleembed_ray.fetch.corpus import corpus_lines

SITE = "https://specifications.o-ran.org/specifications"
# TeleEmbedBench, Section III-A.
NUM_DOCUMENTS = 116
SUFFIXES = ("docx", "doc", "pdf", "zip")


def count_documents(folder: Path) -> int:
    """Return how many documents lie in a folder already."""
    return sum(path.suffix.lower().removeprefix(".") in SUFFIXES and path.is_file() for path in folder.rglob("*"))


def steps(folder: Path) -> str:
    """Return the steps as text for the terminal, and write nothing."""
    there = count_documents(folder)
    return f"""\
The O-RAN ALLIANCE asks each reader to accept its licence, so a person fetches these documents:

1. Open {SITE} and read and accept the licence.
2. Download the latest published version of each specification of all working and focus groups (names begin with
   O-RAN.WG1 to O-RAN.WG11, O-RAN.TIFG and others): DOCX where there is a choice, else PDF. TeleEmbedBench used
   {NUM_DOCUMENTS} specification documents, PDF and Word; those that it shows are of Release 3 (R003 in the name).
3. Leave out older versions of a document, and the PDF of one that you have as DOCX: near-twins of a text take the first
   place from each other.
4. Put the files into {folder.absolute()}, names unchanged (folders inside are fine). There are {there} documents now.
5. Add these lines to your configuration:

{corpus_lines("oran", folder)}"""
