"""Prompts of the generator and of the two styles of validator (written for this project after Section III-C).

A change of any text here is a change of PROMPT_VERSION, which stands in every pair and makes old replies stale.
"""

from collections.abc import Mapping
from typing import Any

PROMPT_VERSION = "2026-2"

# The four things that must hold (Section III-C); columns of the candidates table, in this order.
CRITERIA = ("substantive", "specific", "answerable", "top_result")

GENERATOR_SYSTEM = """\
You write one search question about a passage of a technical document, to test telecom search engines. The question \
is conversational but technically precise: it asks for a fact that the passage states, names the terms it is about so \
that this passage and no other is the right first result, and is answered by the passage alone. It makes sense to a \
person who does not see the passage. Never ask what a document or clause is about, and nothing that many passages \
answer or that needs another passage. Reply with the question only."""

GENERATOR_USER = """\
Passage:
{chunk}

Write one specific question that this passage answers."""

# Two finished turns keep small models to the form. They come from outside of the benchmark's corpora, so that a copied
# phrase shows.
GENERATOR_TURNS = (
    (
        (
            "A DHCP client sends DHCPDISCOVER to the broadcast address. A server answers with DHCPOFFER, which holds "
            "an address and a lease time. The client renews the lease when half of the lease time is over."
        ),
        "When does a DHCP client renew its lease?",
    ),
    (
        (
            "A BGP speaker closes the session and sends a NOTIFICATION when it receives neither KEEPALIVE nor UPDATE "
            "before the hold timer ends."
        ),
        "What does a BGP speaker send when its hold timer ends without a KEEPALIVE?",
    ),
)

JSON_SYSTEM = """\
You check questions for a test of telecom search engines. You get a passage of a technical document and a question \
that was written for it. Judge four criteria, each on its own:

substantive: the passage is running technical text or code with content of its own, not a table of contents, a list of \
references, a change history, legal text, or the remains of a table or figure.
specific: the question is one clear, well formed question about a particular technical point; it names what it is \
about and does not lean on words such as "this section".
answerable: the passage alone states all that a correct answer needs.
top_result: among all passages of a large collection of telecom specifications, this one would be the best result for \
the question.

Be strict: when in doubt, the criterion is not met. Reply with one JSON object and nothing else, on one line:
{"reasoning": "one or two sentences", "substantive": true or false, "specific": true or false, "answerable": true or \
false, "top_result": true or false}"""

JSON_USER = """\
Passage:
{chunk}

Question: {question}"""

# What an engine that can constrain its model holds the validator to. The reasoning comes first, so that the verdicts
# follow from it, and is bounded, so that runaway text does not eat the verdicts' tokens.
VERDICT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "maxLength": 600},
        **{name: {"type": "boolean"} for name in CRITERIA},
    },
    "required": ["reasoning", *CRITERIA],
    "additionalProperties": False,
}

# What a base model gets in place of passage and question to learn what it says by habit (contextual calibration).
CONTENT_FREE = ("N/A", "", "[text]")

# A base model continues a text. The line of a criterion comes last, so that all that stands before it is computed once.
FEW_SHOT_ENDINGS = {
    "substantive": "Is the passage technical text with content (yes or no)?",
    "specific": "Is the question specific and well formed (yes or no)?",
    "answerable": "Does the passage answer the question (yes or no)?",
    "top_result": "Is the passage the best search result for the question (yes or no)?",
}
_EXAMPLES = (
    (
        (
            "The near-RT RIC shall start the timer TRICevent when it sends the RIC SUBSCRIPTION REQUEST message. If "
            "the timer expires before a response arrives, the near-RT RIC may send the request again."
        ),
        "What may the near-RT RIC do when TRICevent expires before a subscription response arrives?",
        ("yes", "yes", "yes", "yes"),
    ),
    (
        (
            "A cell may be barred by the master information block. A UE in a barred cell does not camp on it, and "
            "looks for another cell on the same frequency when intraFreqReselection says allowed."
        ),
        "Which port does the F1 interface use for SCTP?",
        ("yes", "yes", "no", "no"),
    ),
    (
        "4.1 General 12\n4.2 Architecture 13\n4.3 Functions 17\nAnnex A (informative): Change history 41",
        "What is it about?",
        ("no", "no", "no", "no"),
    ),
)


def _example(chunk: str, question: str) -> str:
    return f"Passage: {chunk}\nQuestion: {question}\n"


FEW_SHOT_HEAD = "".join(
    _example(chunk, question)
    + "".join(f"{FEW_SHOT_ENDINGS[name]} {answer}\n" for name, answer in zip(CRITERIA, answers, strict=True))
    + "\n"
    for chunk, question, answers in _EXAMPLES
)


def generator_messages(chunk: str) -> list[Mapping[str, str]]:
    """chunk -> chat messages that ask for one question."""
    messages = [{"role": "system", "content": GENERATOR_SYSTEM}]
    for passage, question in GENERATOR_TURNS:
        messages.append({"role": "user", "content": GENERATOR_USER.format(chunk=passage)})
        messages.append({"role": "assistant", "content": question})
    return [*messages, {"role": "user", "content": GENERATOR_USER.format(chunk=chunk)}]


def validator_messages(chunk: str, question: str) -> list[Mapping[str, str]]:
    """(chunk, question) -> chat messages that ask for the four verdicts as a JSON object."""
    return [
        {"role": "system", "content": JSON_SYSTEM},
        {"role": "user", "content": JSON_USER.format(chunk=chunk, question=question)},
    ]


def few_shot_prefix(chunk: str, question: str) -> str:
    """(chunk, question) -> the text that a criterion's ending of FEW_SHOT_ENDINGS continues."""
    return FEW_SHOT_HEAD + _example(chunk, question)
