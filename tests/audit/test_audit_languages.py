"""Which language a document is said to be in, and when nothing is said."""

import pyarrow as pa
import pytest

from teleembed_ray import schemas
from teleembed_ray.audit.languages import SAMPLE_CHARS, identify, languages_table, prose_sample

ENGLISH = "The base station sends the setup request to the core network and waits for the answer of the function.\n\n"
GERMAN = "Die Basisstation sendet die Anfrage an das Kernnetz und wartet dann auf die Antwort der Funktion.\n\n"
FRENCH = "La station de base envoie la demande au coeur du reseau et attend ensuite la reponse de la fonction.\n\n"


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (GERMAN, "de"), (FRENCH, "fr")])
def test_prose_is_named_by_its_iso_code(text: str, language: str) -> None:
    found, why, confidence = identify(text * 5, "docx", 0.8)
    assert (found, why) == (language, None)
    assert confidence is not None
    assert 0.8 <= confidence <= 1.0


def test_code_is_undetermined_however_english_its_comments() -> None:
    assert identify(ENGLISH * 5, "cpp", 0.8) == ("undetermined", "code", None)
    assert identify(ENGLISH * 5, "yaml", 0.8) == ("undetermined", "code", None)


def test_numbers_and_headings_are_no_prose_to_judge_by() -> None:
    numbers = "3.1 4.2 0x33 17 29.5 1001 2002 3003 0b101 12 13 14 15 16\n\n" * 20
    assert identify(numbers, "pdf", 0.8) == ("undetermined", "too little prose", None)
    assert identify("Scope\n\nReferences\n\n" * 50, "pdf", 0.8) == ("undetermined", "too little prose", None)


def test_below_the_wanted_confidence_nothing_is_said() -> None:
    language, why, confidence = identify((ENGLISH + GERMAN) * 5, "docx", 1.0)
    assert (language, why) == ("undetermined", "not sure")
    assert confidence is not None
    assert confidence < 1.0


def test_the_sample_reaches_to_the_end_of_a_long_document() -> None:
    # English front matter, and then a German text nine times as long.
    sample = prose_sample(ENGLISH * 100 + GERMAN * 900)
    assert len(sample) <= SAMPLE_CHARS
    assert sample.count("Basisstation") > 3 * sample.count("base station")
    assert identify(ENGLISH * 100 + GERMAN * 900, "docx", 0.8)[0] == "de"


def test_every_document_has_a_row_in_input_order() -> None:
    rows = [
        {"doc_id": "d2", "corpus": "core", "format": "docx", "text": ENGLISH * 5, "num_chars": 7},
        {"doc_id": "d1", "corpus": "core", "format": "cpp", "text": "int x;", "num_chars": 6},
    ]
    documents = pa.Table.from_pylist([dict.fromkeys(schemas.DOCUMENTS.names) | row for row in rows])
    found = languages_table(documents, 0.8)
    assert found.schema == schemas.LANGUAGES
    assert found["doc_id"].to_pylist() == ["d2", "d1"]
    assert found["language"].to_pylist() == ["en", "undetermined"]
    assert found["num_chars"].to_pylist() == [7, 6]
