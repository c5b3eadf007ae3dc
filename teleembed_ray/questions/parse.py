"""What models reply -> a question, or four verdicts, or one fixed word that says why not.

A doubt is never read in favour of a question: what is not clearly well formed has a category of its own.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from teleembed_ray.questions.prompts import CRITERIA, GENERATOR_TURNS

MAX_QUESTION_WORDS = 60
MIN_QUESTION_WORDS = 3
# The verdict of a question that failed a criterion.
FAILED = {name: f"not_{name}" for name in CRITERIA}

_THINK = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*$", re.MULTILINE)
_LABEL = re.compile(r"^(?:the\s+)?(?:search\s+|one\s+)?(?:question|query|q)(?:\s+is)?\s*\d*\s*[:.]\s*", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[-*\u2022]\s+|\(?\d{1,2}[.)]\s+)")
_QUOTES = "\"'`*_\u201c\u201d\u2018\u2019 \t"
_OPENING = re.compile(
    r"^(?:(?:in|on|at|for|to|from|by|with|within|under|during|after|before|upon|between|of|if|when|while|given|as|according"
    r" to|through|via)\b.*\b)?"
    r"(?:what|which|when|where|who|whose|whom|why|how|is|are|was|were|does|do|did|can|could|may|must|shall|should|will"
    r"|would|has|have|name|explain|describe|list|state|define)\b",
    re.IGNORECASE,
)
_SOURCE = (
    r"(?:section|context|text|passage|document|specification|excerpt|snippet|chunk|paragraph|clause|chapter|table|figure|"
    r"code|content|information|description|example|test case|scenario)s?"
)
# A question that points at something its reader does not see (found in 5 % of ORAN-Bench-13K).
_UNSEEN = re.compile(
    rf"\b(?:(?:the|this|that|these|those)\s+(?:above|following|preceding|current)?-?\s*"
    rf"(?:given|provided|above|following|preceding|mentioned|described|supplied|quoted)\s+(?:\w+\s+)?{_SOURCE}"
    rf"|(?:this|these)\s+{_SOURCE}"
    rf"|(?:in|from|by|to|of|on|within|according to|based on)\s+the\s+"
    rf"(?:section|context|text|passage|document|excerpt|snippet|chunk|paragraph)(?!\s+(?:of|for)\b)"
    rf"|(?:given|provided)\s+(?:context|text|passage|document|information|table|excerpt|section|snippet)"
    rf"|(?:the\s+)?(?:text|passage|context|section|document|clause)\s+(?:above|below|says?|states?|describes?|mentions?)"
    rf"|the\s+(?:passage|excerpt|snippet)"
    rf"|(?:mentioned|described|defined|listed|shown)\s+(?:above|below|here))\b",
    re.IGNORECASE,
)
# Words that name no technical thing. A question of these only could be asked of any passage.
_GENERIC_WORDS = """
a about above all also an and another any are as at author be been being best between both but by can case cases
chapter clause concept content contents context could current describe described description did difference discuss
discussed do document documents does during each example expected explain for from function functions give given
goal happen happens has have how idea if importance important in information input intended into is it its kind list
main may mean meaning mentioned method must name need needed needs not objective of on one only or order other out
outcome output overview paragraph passage performed point procedure procedures process provided purpose purposes
question reason relevant require required requirement requirements result results role said same say scope section
shall should significance some specific specification state step steps subject successful summary system table
technical term test tested testing tests text than that the their them then there these they thing this those to
topic type types under us use used user uses using value values was we were what when where whether which while who
why will with within would you
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
_WORD = re.compile(r"[\w][\w.\-:/]*")
_EXAMPLE_TERMS = frozenset(re.findall(r"\b[A-Z]{3,}\b", " ".join(text for turn in GENERATOR_TURNS for text in turn)))


@dataclass(frozen=True)
class ParsedQuestion:
    """A question, or the category that says why there is none; `question` may stand beside a category."""

    question: str | None
    problem: str | None


@dataclass(frozen=True)
class ParsedVerdict:
    """Four verdicts in the order of CRITERIA, or the category that says why there are none."""

    criteria: tuple[bool, bool, bool, bool] | None
    reasoning: str
    problem: str | None


def is_clean(question: str) -> bool:
    """Whether a question ends with "?" or "."; what does not is a generation artifact (TeleEmbedBench-Clean)."""
    return question.endswith(("?", "."))


def strip_thinking(reply: str) -> tuple[str, bool]:
    """reply -> (what stands outside of <think> ... </think>, whether a thought is unfinished).

    Behind an unfinished thought nothing is left, and nothing before an end whose beginning is missing.
    """
    kept: list[str] = []
    position, is_open = 0, False
    for tag in _THINK.finditer(reply):
        if not tag[1]:
            kept += [] if is_open else [reply[position : tag.start()]]
            is_open = True
        else:
            kept = kept if is_open else []
            position, is_open = tag.end(), False
    return "".join([*kept, "" if is_open else reply[position:]]), is_open


def parse_question(reply: str, is_cut: bool = False) -> ParsedQuestion:
    """generator's reply -> its first question, without labels, bullets, fences and quotes, or a category.

    `is_cut` says that the reply ended at max_tokens. A question that was cut there is kept without its end, as the
    paper keeps such artifacts; only when nothing but thinking was written the category is "truncated_reply".
    Categories: empty, truncated_reply, no_question, too_long, refers_to_unseen_context, generic_question.
    """
    text, _ = strip_thinking(reply)
    if not text.strip():
        return ParsedQuestion(None, "truncated_reply" if is_cut and reply.strip() else "empty")
    lines = [line for line in map(_bare, _FENCE.sub("", text).splitlines()) if line]
    candidates = [_up_to_mark(line) for line in lines]
    found = next((line for line in candidates if line.endswith("?") and _OPENING.match(line)), None)
    # Without a question mark only the last line can be a question that was cut, or one that ends with a full stop.
    found = found or next((line for line in candidates if _OPENING.match(line)), None)
    if found is None or len(found.split()) < MIN_QUESTION_WORDS:
        return ParsedQuestion(None, "no_question")
    if len(found.split()) > MAX_QUESTION_WORDS:
        return ParsedQuestion(found, "too_long")
    return ParsedQuestion(found, question_problem(found))


def question_problem(question: str) -> str | None:
    """question -> why no model needs to judge it, or None."""
    if _UNSEEN.search(question):
        return "refers_to_unseen_context"
    words = {word.lower().rstrip(".:/-") for word in _WORD.findall(question)}
    return "generic_question" if words <= _GENERIC else None


def copies_example(question: str, chunk: str) -> bool:
    """Whether a question names a term of the prompt's examples that its chunk does not hold.

    A small model may hand back an example; the examples are about protocols that no telecom corpus need mention.
    """
    return any(term in question and term not in chunk for term in _EXAMPLE_TERMS)


def _bare(line: str) -> str:
    """line -> line without the bullet, the label and the quotes or emphasis around it."""
    line = " ".join(line.split()).strip(_QUOTES)
    line = _BULLET.sub("", line).strip(_QUOTES)
    return _LABEL.sub("", line).strip(_QUOTES)


def _up_to_mark(line: str) -> str:
    """line -> its text up to the first question mark, which may stand inside quotes; what follows is an answer."""
    mark = line.find("?")
    return line if mark < 0 else line[: mark + 1].strip(_QUOTES)


def parse_verdict(reply: str, is_cut: bool = False) -> ParsedVerdict:
    """validator's reply -> four verdicts, or a category: empty, truncated_reply, malformed_reply, conflicting_reply.

    The object may stand in a fence or among text, and hold more keys than asked for; "true" and "false" may be strings.
    A missing key, another value, two objects that differ, or a key with two values is never guessed at; neither is what
    stands beside a broken object or before an unfinished thought, which might have taken it back.
    """
    text, is_thinking = strip_thinking(reply)
    text = text.strip()
    if not text:
        return ParsedVerdict(None, "", "truncated_reply" if is_cut and reply.strip() else "empty")
    found_objects = _objects(text)
    objects = [found for found in found_objects or [] if set(CRITERIA) & set(found)]
    if not objects or is_thinking:
        return ParsedVerdict(None, text, "truncated_reply" if is_cut else "malformed_reply")
    verdicts = {_criteria(found) for found in objects}
    if len(verdicts) > 1:
        return ParsedVerdict(None, text, "conflicting_reply")
    criteria = verdicts.pop()
    if criteria is None:
        return ParsedVerdict(None, text, "malformed_reply")
    reasoning = objects[0].get("reasoning", "")
    return ParsedVerdict(criteria, reasoning if isinstance(reasoning, str) else json.dumps(reasoning), None)


def _objects(text: str) -> list[dict[str, Any]] | None:
    """Return the outermost JSON objects in a text, or None where one is broken; a key with two values has none."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, strict=False)
    found, place = [], text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None
        found.append(value)
        place = text.find("{", end)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        # Two different values for one key: neither is taken. To Python, 1 and true are equal.
        is_same = key not in values or (type(values[key]) is type(value) and values[key] == value)
        values[key] = value if is_same else None
    return values


def _criteria(values: dict[str, Any]) -> tuple[bool, bool, bool, bool] | None:
    words = {"true": True, "false": False}
    found = [values.get(name) for name in CRITERIA]
    verdicts = [words.get(value.strip().lower()) if isinstance(value, str) else value for value in found]
    # Not truthiness: 1, "yes" or a list is no boolean, and what was not asked for is not read as one.
    if not all(isinstance(verdict, bool) for verdict in verdicts):
        return None
    substantive, specific, answerable, top_result = (verdict is True for verdict in verdicts)
    return substantive, specific, answerable, top_result
