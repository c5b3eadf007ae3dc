"""The words of the two invented systems that the demo's specifications describe."""

from dataclasses import dataclass


def sentences(block: str) -> tuple[str, ...]:
    """Return the sentence templates of a block, which blank lines separate, each on one line."""
    return tuple(" ".join(template.split()) for template in block.strip().split("\n\n"))


@dataclass(frozen=True)
class Vocabulary:
    """What one family of specifications talks about."""

    family: str
    prefix: str
    nodes: tuple[str, ...]
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    quantities: tuple[str, ...]
    causes: tuple[str, ...]
    # Sentences that only this family has, with the names of a procedure's facts in braces.
    remarks: tuple[str, ...]


FRONTHAUL = Vocabulary(
    family="Open Fronthaul Laboratory",
    prefix="FHL",
    nodes=("Radio Head", "Baseband Node", "Timing Source", "Fronthaul Switch", "Management Client", "Cascade Hub"),
    subjects=(
        "beam table", "carrier", "antenna array", "timing plane", "delay window", "compression profile",
        "uplink stream", "downlink stream", "calibration", "power amplifier", "energy saving mode", "software slot",
        "alarm list", "performance counter", "transceiver module", "redundant link", "spectrum sample",
        "passive intermodulation check", "cascade chain", "security association",
    ),
    objects=(
        "carrier configuration", "beam identifier", "stream identifier", "symbol window", "antenna port", "clock class",
        "section description", "module inventory", "counter group", "fault record", "delay profile", "link identity",
    ),
    quantities=(
        "symbol offset", "transmit window", "beam weight set", "phase error", "received power", "queue depth",
        "fan speed", "module temperature", "packet loss ratio", "clock offset", "compression ratio", "gain correction",
    ),
    causes=(
        "window overrun", "unknown stream", "clock not locked", "resource exhausted", "profile not supported",
        "module absent", "integrity check failed", "busy with calibration", "version mismatch", "licence missing",
    ),
    remarks=sentences("""
        The {quantity} is sampled once in every radio frame, and the {responder} keeps the last {threshold} samples for
        the Management Client.

        User plane packets that arrive while the {subject} is being changed are kept in the receive window and are
        handed over in order once {timer} has been stopped.

        A Radio Head without a lock to its timing source answers every {request} with the cause "{cause}", since the
        {quantity} has no meaning before the clocks agree.

        The {item} is part of the managed data tree of the {responder}; a client that has subscribed to it is notified
        of each change within {timer_ms} milliseconds.
    """),
)  # fmt: skip

CORE = Vocabulary(
    family="Session Core Partnership",
    prefix="SCP",
    nodes=("Access Node", "Session Anchor", "Policy Server", "Subscriber Register", "Device", "Location Gateway"),
    subjects=(
        "session", "registration", "bearer", "paging group", "slice selection", "policy association", "location report",
        "charging record", "emergency call", "multicast group", "roaming agreement", "device context",
        "service request", "handover preparation", "key renewal", "congestion notice", "data forwarding path",
        "subscription change", "sidelink discovery", "network exposure",
    ),
    objects=(
        "session identifier", "flow description", "subscriber record", "tracking zone", "policy rule", "charging key",
        "security context", "service area list", "address pool", "slice label", "notification target", "usage report",
    ),
    quantities=(
        "aggregate bit rate", "priority level", "packet delay budget", "paging cycle", "usage threshold",
        "back-off interval", "session lifetime", "zone code", "retry limit", "averaging window", "error rate target",
        "reporting period",
    ),
    causes=(
        "subscriber unknown", "zone not allowed", "slice not available", "context not found", "congestion",
        "policy rejected", "protocol error", "feature not supported", "key set expired", "address pool empty",
    ),
    remarks=sentences("""
        The subscriber is not told about the procedure; only if {counter} reaches {num_retries} does the network send a
        notice to the Device.

        During roaming the {request} is routed through the visited network, which may lower the {quantity} but must not
        raise it above {default}.

        For each {subject} that is anchored elsewhere, the {responder} asks its peer for the {item} and answers only
        after the peer has confirmed it.

        Charging starts with the {response} and ends with the next release; a {failure} with the cause "{other_cause}"
        is never charged.
    """),
)  # fmt: skip
