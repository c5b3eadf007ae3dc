"""Ids are functions of content alone."""

from teleembed_ray import ids


def test_parts_are_framed_so_that_a_shifted_boundary_gives_another_id() -> None:
    assert ids.digest("ab", "c") != ids.digest("a", "bc")
    assert ids.digest("abc") != ids.digest("ab", "c")


def test_text_and_bytes_of_the_same_content_agree() -> None:
    assert ids.digest("Zelle") == ids.digest(b"Zelle")


def test_an_id_is_24_hex_digits_and_stays_what_it_was() -> None:
    # blake2b-96 over length-framed parts, worked with hashlib alone: a change here orphans every lake.
    assert ids.doc_id("oran", "a/b.docx", b"PK") == "eb5ee133f703d4ba29761576"


def test_the_same_file_at_two_paths_is_two_documents() -> None:
    assert ids.doc_id("oran", "a.docx", b"PK") != ids.doc_id("oran", "b.docx", b"PK")


def test_seeded_order_differs_between_seeds_and_not_between_calls() -> None:
    names = [f"c{i}" for i in range(50)]
    first = sorted(names, key=lambda name: ids.seeded_order(1, name))
    assert first == sorted([*names[25:], *names[:25]], key=lambda name: ids.seeded_order(1, name))
    assert first != sorted(names, key=lambda name: ids.seeded_order(2, name))
