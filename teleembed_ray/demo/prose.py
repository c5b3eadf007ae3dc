"""(seed, corpus, index) -> an invented specification.

Every document has names, timers and values of its own, so that a question about them has one right passage. Test cases
of one procedure are neighbouring clauses that share their title words and all but two or three steps: the hard
negatives that telecom retrieval suffers from (TeleEmbedBench, Figure 2).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from teleembed_ray.demo.draw import Draw
from teleembed_ray.demo.specification import Block, Figure, Heading, Specification, Table, Text
from teleembed_ray.demo.vocabulary import Vocabulary, sentences

_ACTIONS = ("Setup", "Update", "Release", "Audit", "Resume", "Transfer", "Activation", "Query", "Handover", "Renewal")


@dataclass(frozen=True)
class Procedure:
    """The facts about one procedure that its clauses and test cases share."""

    name: str
    subject: str
    interface: str
    initiator: str
    responder: str
    request: str
    response: str
    failure: str
    indication: str
    timer: str
    timer_ms: int
    guard: str
    guard_s: int
    counter: str
    num_retries: int
    parameter: str
    lowest: int
    highest: int
    default: int
    item: str
    quantity: str
    threshold: int
    cause: str
    other_cause: str


def _camel(words: str) -> str:
    first, *rest = words.split()
    return first.lower() + "".join(word.capitalize() for word in rest)


def _procedures(draw: Draw, words: Vocabulary, interface: str, count: int) -> list[Procedure]:
    """Return procedures with names that differ within the document."""
    timer_numbers = draw.some(range(200, 990), 2 * count)
    subjects = draw.some(words.subjects, count)
    procedures = []
    for index, subject in enumerate(subjects):
        initiator, responder = draw.some(words.nodes, 2)
        action = draw.one(_ACTIONS)
        name = f"{subject.title()} {action}"
        quantity = draw.one(words.quantities)
        cause, other_cause = draw.some(words.causes, 2)
        lowest = draw.one((0, 1, 2, 4))
        highest = draw.between(31, 4095)
        procedures.append(
            Procedure(
                name=name,
                subject=subject,
                interface=interface,
                initiator=initiator,
                responder=responder,
                request=f"{name} REQUEST".upper(),
                response=f"{name} RESPONSE".upper(),
                failure=f"{name} FAILURE".upper(),
                indication=f"{subject} STATUS INDICATION".upper(),
                timer=f"T{timer_numbers[2 * index]}",
                timer_ms=draw.between(50, 4800, 10),
                guard=f"T{timer_numbers[2 * index + 1]}",
                guard_s=draw.between(3, 90),
                counter=f"N{draw.between(10, 99)}",
                num_retries=draw.between(2, 9),
                parameter=_camel(f"{draw.one(('max', 'min', 'target', 'initial', 'allowed'))} {quantity}"),
                lowest=lowest,
                highest=highest,
                default=draw.between(lowest, highest),
                item=draw.one(words.objects),
                quantity=quantity,
                threshold=draw.between(5, 95),
                cause=cause,
                other_cause=other_cause,
            )
        )
    return procedures


_PURPOSE = sentences("""
The purpose of the {name} procedure is to let the {initiator} and the {responder} agree on the {item} that applies
to the {subject} before any traffic that depends on it is sent over {interface}.

The {initiator} uses the {name} procedure over {interface} whenever the {quantity} that it observes no longer fits
the {item} which the {responder} holds for the {subject}.

With the {name} procedure the {initiator} asks the {responder} to take over a new {item}. The procedure concerns one
{subject} at a time and leaves every other one as it is.
""")
_GENERAL = sentences("""
At most {num_retries} instances of the procedure may be open between the same pair of nodes; a further {request}
waits in the queue of the {initiator} and is sent once one of them has ended.

The procedure uses signalling associated with the {subject}, and every message of it carries the transaction number
of the {request} that opened it.

The {responder} treats the {item} as valid for {guard_s} seconds after the last {indication}; afterwards the
{initiator} has to run the procedure again.

Support of the procedure is optional for a {responder} that announces no {subject} capability when {interface} is
brought up, and mandatory for all others.

Messages of the procedure are sent with the priority of management traffic, so that a {quantity} above {threshold}
percent of its limit does not delay them.

The procedure must not be started while a software change of the {responder} is under way, since the {item} is
rebuilt at the end of that change.
""")
_SUCCESS = sentences("""
The {initiator} starts the procedure by sending the {request} message, and it starts timer {timer}, which runs for
{timer_ms} milliseconds.

On reception of the {request} the {responder} compares the {item} in the message with the one that it has stored,
and reserves what the {subject} needs before it changes anything.

If the {request} contains the {parameter} element, the {responder} shall use its value, which lies between {lowest}
and {highest}, as the new {quantity}; otherwise it assumes {default}.

When the reservation is complete, the {responder} answers with the {response} message, which repeats the transaction
number and lists each {item} that was accepted.

On reception of the {response} the {initiator} stops {timer}, stores the {item}, and may use the {subject} from the
next full second on.

Where the {response} names a {quantity} below {threshold} percent of what was asked for, the {initiator} reports the
difference to its operator and continues with the lower value.

The {responder} sends one {indication} after every change of the {quantity}, but not more often than once in
{timer_ms} milliseconds.

Both nodes write the outcome into their event log together with the {parameter} value that was agreed.
""")
_FAILURE = sentences("""
If the {responder} cannot reserve what the {subject} needs, it sends the {failure} message with the cause "{cause}"
and keeps the {item} that it had before.

On reception of a {failure} whose cause is "{other_cause}", the {initiator} waits until {guard} has run for
{guard_s} seconds before it tries the same {item} again.

A {failure} without any cause value is handled as if the cause had been "{cause}".

If only part of the list in the {request} can be accepted, the {responder} shall reject the whole list, so that the
{subject} never works with a mixture of old and new values.
""")
_ABNORMAL = sentences("""
If {timer} expires before an answer has arrived, the {initiator} sends the {request} again and increases counter
{counter}; after {num_retries} attempts it gives up and raises an alarm of severity major.

If a second {request} for the same {subject} arrives while the first is being handled, the {responder} discards the
second one and answers only the first.

If the {parameter} element lies outside of {lowest} to {highest}, the {responder} ignores the element, continues
with {default}, and adds a warning to the {response}.

If {interface} is lost during the procedure, both nodes return to the {item} that was valid before, and the
{responder} starts {guard} to protect the {subject} from an early new attempt.

Each {indication} that arrives for a {subject} which the {initiator} does not know shall be counted and dropped.
""")
_SCOPE = sentences("""
The present document specifies the {title} for products that implement the {interface} interface. It covers the
procedures, the parameters that steer them, and the test cases by which two vendors show that they agree.

The document is written for test engineers and for developers of the {first} and the {second}. It repeats no
requirement of the general architecture; where both disagree, the general architecture has precedence.

Edition {version} replaces all earlier editions. The values of timers in this edition were chosen for networks in
which the one-way delay on {interface} stays below {delay} microseconds.
""")
_ARCHITECTURE = sentences("""
The {interface} interface connects the {first} with the {second}. It is carried over a transport connection that the
{first} opens towards port {port} of the {second}, and that is protected by mutual certificates.

One {second} serves up to {fanout} instances of the {first}. Each instance has an identity of {bits} bits, which the
{second} assigns when the connection is opened and which stays the same over restarts.

A {third} may stand between the two. It forwards messages without looking into them, adds at most {delay}
microseconds of delay, and reports the state of its links every {period} seconds.

Supervision is done by heartbeat messages, which both sides send every {period} seconds. After {missed} missed
heartbeats the connection is closed, all open procedures end, and the {first} opens a new connection.
""")

# What differs between neighbouring test cases: title, condition, the two steps that are their own, and the verdict.
_VARIANTS = (
    (
        "with default parameters",
        "no configuration other than the factory values is loaded",
        "Send the {request} without the {parameter} element.",
        "Verify that the {response} reports {default} as the {quantity}.",
        "the {responder} works with the default value {default}",
    ),
    (
        "with the highest parameter value",
        "the licence for the full range of the {quantity} is loaded",
        "Send the {request} with {parameter} set to {highest}.",
        "Verify that the {response} reports {highest} as the {quantity} and carries no warning.",
        "the value {highest} is taken over without a warning",
    ),
    (
        "with a value out of range",
        "the event log of the {responder} is empty",
        "Send the {request} with {parameter} set to {above}.",
        "Verify that the {response} contains a warning and that the {quantity} is {default}.",
        "the element is ignored and a warning is returned",
    ),
    (
        "after loss of the answer",
        "the impairment generator drops the first {response}",
        "Let {timer} expire, {timer_ms} milliseconds after the first {request}, and count the messages on {interface}.",
        "Verify that a second {request} is sent and that {counter} is 1.",
        "the {request} is repeated once and the procedure completes",
    ),
    (
        "after a restart of the responding node",
        "the {responder} is restarted between two steps by its console",
        "Restart the {responder} and wait for {guard_s} seconds, until {guard} has run out.",
        "Verify that the {item} is the one which was valid before the restart.",
        "no {item} is lost by the restart",
    ),
    (
        "with refused resources",
        "other users occupy {threshold} percent of the resources of the {responder}",
        "Send the {request} for more than what is left.",
        'Verify that the {failure} carries the cause "{cause}".',
        "the request is refused and nothing changes",
    ),
    (
        "with two requests at the same time",
        "two simulators of the {initiator} are synchronised to one clock",
        "Send two {request} messages for the same {subject} within {num_retries} milliseconds.",
        "Verify that only the transaction number of the first {request} is answered.",
        "the second {request} is dropped without an answer",
    ),
)  # fmt: skip
_STEPS = (
    "Bring up {interface} between the {initiator} and the {responder} and wait until both report the state enabled.",
    "Read the {item} from the {responder} and record it as the value before the test.",
    "Start a capture of all messages on {interface} and clear counter {counter}.",
    "Create one {subject} at the {initiator} and check that its {quantity} is below {threshold} percent of the limit.",
    "Own",
    "Check in the capture that the {responder} answered within {timer_ms} milliseconds.",
    "Own",
    "Read the {item} from the {responder} again and compare it with the value before the test.",
    "Check that exactly one {indication} was sent for the change.",
    "Stop the capture, store it with the identifier of this test case, and release the {subject}.",
)


def _facts(procedure: Procedure) -> dict[str, object]:
    return vars(procedure) | {"above": procedure.highest + 1 + procedure.threshold}


def _chapter_procedure(draw: Draw, words: Vocabulary, number: str, procedure: Procedure) -> Iterator[Block]:
    facts = _facts(procedure)

    def clause(last: int, title: str, templates: tuple[str, ...], count: int) -> Iterator[Block]:
        yield Heading(f"{number}.{last}", title, 3)
        chosen = [template.format(**facts) for template in draw.some_in_order(templates, count)]
        # Two sentences a paragraph, as specifications have it.
        for start in range(0, len(chosen), 2):
            yield Text(" ".join(chosen[start : start + 2]))

    yield Heading(number, procedure.name, 2)
    yield Heading(f"{number}.1", "General", 3)
    yield Text(draw.one(_PURPOSE).format(**facts))
    for template in (*draw.some_in_order(_GENERAL, 2), *draw.some_in_order(words.remarks, 2)):
        yield Text(template.format(**facts))
    yield from clause(2, "Successful operation", _SUCCESS, draw.between(6, 8))
    yield Figure(f"Figure {number}-1: {procedure.name} procedure, successful operation", draw.between(2, 4))
    yield from clause(3, "Unsuccessful operation", _FAILURE, draw.between(3, 4))
    yield from clause(4, "Abnormal conditions", _ABNORMAL, draw.between(3, 5))
    yield Text(
        f"NOTE: Timer {procedure.timer} and counter {procedure.counter} are used by no other procedure on "
        f"{procedure.interface}.",
        "note",
    )


def _chapter_tests(draw: Draw, number: str, procedure: Procedure) -> Iterator[Block]:
    """Yield the test cases of one procedure: neighbouring clauses with mostly the same steps."""
    facts = _facts(procedure)
    yield Heading(number, f"Test cases for {procedure.name}", 2)
    for index, variant in enumerate(draw.some_in_order(_VARIANTS, draw.between(3, 4)), start=1):
        title, condition, first, second, verdict = (part.format(**facts) for part in variant)
        yield Heading(f"{number}.{index}", f"{procedure.name} {title}", 3)
        yield Text(
            f"This test case verifies {procedure.name} {title}. It applies to the {procedure.initiator} and the "
            f"{procedure.responder}. Before the test, {condition}."
        )
        own = iter((first, second))
        for step, template in enumerate(_STEPS, start=1):
            yield Text(f"Step {step}: {next(own) if template == 'Own' else template.format(**facts)}", "item")
        yield Text(f"The test case is passed if {verdict}, and failed in every other case.")


def _chapter_parameters(number: str, procedures: list[Procedure]) -> Iterator[Block]:
    yield Heading(number, "Parameters and timers", 1)
    rows = tuple(
        (procedure.parameter, f"INTEGER ({procedure.lowest}..{procedure.highest})", "Optional", procedure.name)
        for procedure in procedures
    )
    yield Text(f"Table {number}-1 lists the elements that the messages on this interface may carry.")
    yield Table(f"Table {number}-1: Elements", (("Element", "Type and range", "Presence", "Used by"), *rows))
    timers = tuple((p.timer, f"{p.timer_ms} ms (tolerance 2 %)", "Restart allowed", p.name) for p in procedures)
    yield Text("Timers are started and stopped as their procedures say; none of them survives a restart.")
    yield Table(f"Table {number}-2: Timers", (("Timer", "Duration", "On restart", "Used by"), *timers))
    for procedure in procedures:
        yield Text(
            f"The {procedure.parameter} element limits the {procedure.quantity} of one {procedure.subject}. Operators "
            f"raise it above {procedure.default} only where {procedure.guard} is at least {procedure.guard_s} seconds, "
            f'because a higher value makes the cause "{procedure.cause}" more likely.'
        )


def _front_matter(draw: Draw, words: Vocabulary, title: str, version: str, interface: str) -> Iterator[Block]:
    first, second, third = draw.some(words.nodes, 3)
    facts = {
        "title": title,
        "version": version,
        "interface": interface,
        "first": first,
        "second": second,
        "third": third,
        "delay": draw.between(20, 900, 5),
        "port": draw.between(38_000, 39_999),
        "fanout": draw.between(4, 96),
        "bits": draw.one((16, 20, 28, 36)),
        "period": draw.between(2, 30),
        "missed": draw.between(3, 8),
    }
    yield Heading("1", "Scope", 1)
    yield from (Text(template.format(**facts)) for template in _SCOPE)
    yield Heading("2", "References", 1)
    for index, subject in enumerate(draw.some(words.subjects, 4), start=1):
        number = f"{words.prefix} TS {draw.between(100, 999)}"
        yield Text(f'[{index}] {number}: "Requirements for the {subject}".', "item")
    yield Heading("3", "Definitions", 1)
    for item, quantity in zip(draw.some(words.objects, 4), draw.some(words.quantities, 4), strict=True):
        yield Text(
            f"{item}: what a node stores about one user of the interface, together with the {quantity} in force."
        )
    yield Heading("4", "Architecture", 1)
    yield from (Text(template.format(**facts)) for template in _ARCHITECTURE)


def build_specification(words: Vocabulary, seed: int, corpus: str, index: int) -> Specification:
    """Return document `index` of a corpus: about 7,000 to 11,000 cl100k_base tokens; the arguments alone decide."""
    draw = Draw("specification", seed, corpus, index)
    interface = f"{draw.one('BCDFGHKLMPRSTVXZ')}{draw.one('aceikmnoruvxyz')}{draw.between(2, 99)}"
    procedures = _procedures(draw, words, interface, draw.between(4, 6))
    title = f"{procedures[0].subject.title()} and {procedures[1].subject.title()} over the {interface} Interface"
    version = f"{draw.between(1, 19)}.{draw.between(0, 9)}.{draw.between(0, 9)}"
    blocks = list(_front_matter(draw, words, title, version, interface))
    blocks.append(Heading("5", "Procedures", 1))
    for position, procedure in enumerate(procedures, start=1):
        blocks += _chapter_procedure(draw, words, f"5.{position}", procedure)
    blocks += _chapter_parameters("6", procedures)
    blocks.append(Heading("7", "Test cases", 1))
    for position, procedure in enumerate(draw.some_in_order(procedures, draw.between(3, 4)), start=1):
        blocks += _chapter_tests(draw, f"7.{position}", procedure)
    return Specification(f"{words.prefix} TS {index:04d}", version, title, words.family, tuple(blocks))
