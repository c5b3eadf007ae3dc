"""documents -> languages: which language a document's prose is in."""

import re
from functools import cache
from typing import Any

import pyarrow as pa
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from teleembed_ray import schemas

UNDETERMINED = "undetermined"
# Formats without prose of their own: a language model would name the language that their keywords resemble.
CODE_FORMATS = frozenset({"cpp", "yaml"})
# What the identifier says of text in no language at all (ISO 639-2).
NO_LANGUAGE = "zxx"

SAMPLE_CHARS = 3000
MIN_SAMPLE_CHARS = 80
MIN_PARAGRAPH_CHARS = 40
# Share of letters among the characters that are no white space: below it a paragraph is a table, a formula or a list of
# numbers.
MIN_LETTER_SHARE = 0.7

_PARAGRAPH_END = re.compile(r"\n\s*\n")


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _is_prose(paragraph: str) -> bool:
    dense = "".join(paragraph.split())
    num_letters = sum(map(str.isalpha, dense))
    return len(dense) >= MIN_PARAGRAPH_CHARS and num_letters >= MIN_LETTER_SHARE * len(dense)


def prose_sample(text: str) -> str:
    """text -> paragraphs of prose from its whole length, about 3,000 characters; empty where there is none."""
    paragraphs = [paragraph for paragraph in _PARAGRAPH_END.split(text) if _is_prose(paragraph)]
    num_chars = sum(map(len, paragraphs))
    # Every n-th paragraph: the front matter of a specification is in English whatever follows.
    step = max(1, num_chars // SAMPLE_CHARS)
    return "\n".join(paragraphs[::step])[:SAMPLE_CHARS]


def identify(text: str, text_format: str, min_confidence: float) -> tuple[str, str | None, float | None]:
    """text -> (language as ISO 639-1 or `undetermined`, why it is undetermined, the identifier's confidence)."""
    if text_format in CODE_FORMATS:
        return UNDETERMINED, "code", None
    sample = prose_sample(text)
    if len(sample) < MIN_SAMPLE_CHARS:
        return UNDETERMINED, "too little prose", None
    language, confidence = _identifier().classify(sample)
    if language == NO_LANGUAGE or confidence < min_confidence:
        return UNDETERMINED, "not sure", float(confidence)
    return str(language), None, float(confidence)


def languages_table(documents: pa.Table, min_confidence: float) -> pa.Table:
    """documents -> languages, one row a document, in input order."""

    def row(document: dict[str, Any]) -> dict[str, Any]:
        language, why, confidence = identify(document["text"] or "", document["format"] or "", min_confidence)
        found = {"language": language, "why_undetermined": why, "confidence": confidence}
        return {name: document[name] for name in ("doc_id", "corpus", "num_chars")} | found

    needed = documents.select(["doc_id", "corpus", "format", "text", "num_chars"])
    rows = [row(document) for batch in needed.to_batches() for document in batch.to_pylist()]
    return pa.Table.from_pylist(rows, schema=schemas.LANGUAGES)
