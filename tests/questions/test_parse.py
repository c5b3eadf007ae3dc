"""Replies as models really write them."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teleembed_ray.questions.parse import copies_example, is_clean, parse_question, parse_verdict
from teleembed_ray.questions.prompts import CRITERIA

WHOLE = json.dumps({"reasoning": "ok", **dict.fromkeys(CRITERIA, True)})
GOOD = "Which timer does the near-RT RIC start?"


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"  {GOOD}\n\nAnswer: TRICevent.",
        f'"{GOOD}"',
        f"**{GOOD}**",
        f"Question: {GOOD}",
        f"**Question:** {GOOD}",
        f"Q1: {GOOD}",
        f"1. {GOOD}\n2. What else does it start?",
        f"- {GOOD}",
        f"Sure, here is one:\n\n{GOOD}",
        f"```text\n{GOOD}\n```",
        f"<think>What would an engineer ask? Is it a timer?</think>\n{GOOD}",
        f"What would an engineer ask?</think>\n{GOOD}",
        f"{GOOD} It starts TRICevent.",
        f"\u201c{GOOD}\u201d",
    ],
)
def test_the_question_is_found_whatever_stands_around_it(reply: str) -> None:
    parsed = parse_question(reply)
    assert (parsed.question, parsed.problem) == (GOOD, None)


@pytest.mark.parametrize(
    ("reply", "is_cut", "problem"),
    [
        ("", False, "empty"),
        (" \n\t", True, "empty"),
        ("<think></think>", False, "empty"),
        ("<think>The passage is about timers. Which timer", True, "truncated_reply"),
        ("The near-RT RIC starts a timer.", False, "no_question"),
        ("I cannot write a question about this.", False, "no_question"),
        ("What?", False, "no_question"),
        ("Which timer " + "and which value " * 30 + "is used?", False, "too_long"),
        ("What is the expected outcome of the test case?", False, "generic_question"),
        ("What is this document about?", False, "refers_to_unseen_context"),
    ],
)
def test_what_holds_no_usable_question_gets_its_category(reply: str, is_cut: bool, problem: str) -> None:
    assert parse_question(reply, is_cut).problem == problem


@pytest.mark.parametrize(
    "question",
    [
        "What is the purpose of the delete operation in the provided context?",
        "What is the purpose of the test scenarios described in the context?",
        "Which parameters does the given section define for TRICevent?",
        "According to the text, which timer does the near-RT RIC start?",
        "What does the passage say about TRICevent?",
        "Which TRICevent values are listed in this table?",
        "What is the function of the timer TRICevent mentioned above?",
        "In the provided code snippet, what does push_back do?",
    ],
)
def test_a_question_that_points_at_what_its_reader_cannot_see_is_refused_by_rule(question: str) -> None:
    assert parse_question(question).problem == "refers_to_unseen_context"


@pytest.mark.parametrize(
    "question",
    [
        "How is the security context of a UE released at handover?",
        "Which field of the PDU session context holds the S-NSSAI?",
        "In which section of the transport block does the CRC stand?",
        "What does the AMF do with the given name of a network slice?",
        "In the context of network slicing, what does the NSSF select?",
        "Where is the UE context stored after an RRC release?",
    ],
)
def test_telecom_words_that_sound_like_references_are_kept(question: str) -> None:
    assert parse_question(question).problem is None


def test_a_question_cut_at_max_tokens_is_kept_and_not_clean() -> None:
    parsed = parse_question("What does the near-RT RIC send when the timer TRICevent", is_cut=True)
    assert (parsed.question, parsed.problem) == ("What does the near-RT RIC send when the timer TRICevent", None)
    assert not is_clean(parsed.question or "")
    assert is_clean("Explain what the NSSF selects.")
    assert is_clean(GOOD)


ALL_TRUE = {"substantive": True, "specific": True, "answerable": True, "top_result": True}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(ALL_TRUE | {"reasoning": "fine"}),
        "```json\n" + json.dumps(ALL_TRUE | {"reasoning": "fine"}, indent=2) + "\n```",
        '<think>{"substantive": false}</think>' + json.dumps(ALL_TRUE | {"reasoning": "fine"}),
        "Here it is: " + json.dumps(ALL_TRUE | {"reasoning": "fine", "confidence": 0.9}) + " Done.",
        json.dumps(dict.fromkeys(ALL_TRUE, "True") | {"reasoning": "fine"}),
    ],
)
def test_four_verdicts_are_read_from_fences_text_and_strings(reply: str) -> None:
    parsed = parse_verdict(reply)
    assert (parsed.criteria, parsed.problem) == ((True, True, True, True), None)
    assert parsed.reasoning == "fine"


def test_one_false_stays_at_its_place() -> None:
    assert parse_verdict(json.dumps(ALL_TRUE | {"answerable": "false"})).criteria == (True, True, False, True)


@pytest.mark.parametrize(
    ("reply", "is_cut", "problem"),
    [
        ("", False, "empty"),
        ("yes, all four hold", False, "malformed_reply"),
        ('{\n"reasoning":' + " " * 4000, True, "truncated_reply"),
        ('{"substantive": true, "specific": true, "answer', True, "truncated_reply"),
        ("<think>substantive is true", True, "truncated_reply"),
        (json.dumps({key: True for key in ALL_TRUE if key != "top_result"}), False, "malformed_reply"),
        (json.dumps(ALL_TRUE | {"specific": None}), False, "malformed_reply"),
        (json.dumps(ALL_TRUE | {"specific": 1}), False, "malformed_reply"),
        (json.dumps(ALL_TRUE | {"specific": "yes"}), False, "malformed_reply"),
        (json.dumps(ALL_TRUE | {"specific": [True]}), False, "malformed_reply"),
        (json.dumps([True, True, True, True]), False, "malformed_reply"),
        (
            '{"substantive": true, "specific": true, "answerable": true, "top_result": true, "specific": false}',
            False,
            "malformed_reply",
        ),
        (json.dumps(ALL_TRUE) + json.dumps(ALL_TRUE | {"specific": False}), False, "conflicting_reply"),
        ("{" * 5000, False, "malformed_reply"),
    ],
)
def test_what_is_no_clear_verdict_is_never_valid_by_luck(reply: str, is_cut: bool, problem: str) -> None:
    parsed = parse_verdict(reply, is_cut)
    assert (parsed.criteria, parsed.problem) == (None, problem)


@pytest.mark.parametrize(
    ("question", "is_copy"),
    [
        ("What does a BGP speaker send when it receives neither KEEPALIVE nor UPDATE?", True),
        ("When does a DHCP client renew its lease?", True),
        ("What does a UE send when its timer T310 ends?", False),
        ("When does the CU send an UPDATE?", False),
    ],
)
def test_an_example_of_the_prompt_handed_back_is_a_copy_unless_the_chunk_names_it(question: str, is_copy: bool) -> None:
    assert copies_example(question, "The CU sends an UPDATE when T310 ends.") == is_copy
    assert not copies_example(question, "A DHCP client, a BGP speaker, KEEPALIVE and UPDATE.")


@pytest.mark.parametrize(
    ("reply", "is_cut", "problem"),
    [
        # To Python 1 == True, so that a repeated key with both looks like one value.
        (WHOLE.replace('"specific": true', '"specific": 1, "specific": true'), False, "malformed_reply"),
        (f"{WHOLE}\n{{'substantive': False}}", False, "malformed_reply"),
        (f'{{"result": {WHOLE}, "reaso', True, "truncated_reply"),
        (f"{WHOLE}<think>wait, the passage", False, "malformed_reply"),
        (f"{WHOLE}<think>wait, the passage", True, "truncated_reply"),
    ],
)
def test_a_good_object_beside_what_may_take_it_back_is_not_accepted(reply: str, is_cut: bool, problem: str) -> None:
    parsed = parse_verdict(reply, is_cut)
    assert (parsed.criteria, parsed.problem) == (None, problem)


@pytest.mark.parametrize("piece", ["{", "<think>", "</think>", '{"a":', "[{", "<reasoning></think>"])
def test_a_megabyte_of_beginnings_is_malformed_within_seconds(piece: str) -> None:
    started = time.process_time()
    parsed = parse_verdict(piece * (1_000_000 // len(piece)))
    parse_question(piece * (1_000_000 // len(piece)))
    assert parsed.criteria is None
    assert time.process_time() - started < 10


_WORDS = ('"substantive"', '"specific"', '"answerable"', '"top_result"', '"reasoning"', "true", "false", "1", "null")
_MARKS = ("{", "}", ":", ",", " ", "<think>", "</think>", "```json\n", "```", WHOLE, WHOLE.replace("true", "false", 1))
_PIECES = st.sampled_from([*_WORDS, *_MARKS])


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)), st.booleans())
def test_whatever_is_replied_four_true_verdicts_are_four_written_out(reply: str, is_cut: bool) -> None:
    parsed = parse_verdict(reply, is_cut)
    parse_question(reply, is_cut)
    assert (parsed.criteria is None) == (parsed.problem is not None)
    if parsed.criteria == (True, True, True, True):
        assert all(f'"{name}"' in reply for name in CRITERIA)
        assert reply.lower().count("true") >= 4
