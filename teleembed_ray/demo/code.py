"""(seed, corpus, index) -> an invented C++ component: source, header, configuration and notes.

The handlers of one component are neighbours that share most of their lines, as the clauses of the specifications do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from teleembed_ray.demo.draw import Draw

_SUBJECTS = (
    "sector", "slot", "bearer", "timing", "paging", "carrier", "session", "beam", "buffer", "handover", "alarm",
    "power", "uplink", "downlink", "counter", "security",
)  # fmt: skip
_ROLES = ("scheduler", "controller", "monitor", "allocator", "dispatcher", "recorder", "adapter", "resolver")
_EVENTS = (
    "setup_request", "release_request", "update_request", "timer_expiry", "link_loss", "status_report",
    "overload_notice", "resume_request", "audit_request", "capacity_change",
)  # fmt: skip
_STATES = ("idle", "pending", "active", "suspended", "releasing")
_METRICS = ("latency_us", "queue_depth", "loss_per_mille", "occupancy_percent", "retry_count", "offset_ns")


@dataclass(frozen=True)
class Handler:
    """The facts about one event handler."""

    event: str
    state: str
    next_state: str
    metric: str
    limit: int
    timer: str
    timer_ms: int
    num_retries: int
    batch: int


@dataclass(frozen=True)
class Component:
    """The facts that the files of one component share."""

    name: str
    type_name: str
    item: str
    capacity: int
    period_ms: int
    handlers: tuple[Handler, ...]


def _component(seed: int, corpus: str, index: int) -> Component:
    draw = Draw("component", seed, corpus, index)
    subject, role = draw.one(_SUBJECTS), draw.one(_ROLES)
    handlers = []
    for event in draw.some_in_order(_EVENTS, draw.between(6, 8)):
        state, next_state = draw.some(_STATES, 2)
        handlers.append(
            Handler(
                event=event,
                state=state,
                next_state=next_state,
                metric=draw.one(_METRICS),
                limit=draw.between(20, 900, 5),
                timer=f"t{draw.between(200, 899)}",
                timer_ms=draw.between(5, 3000, 5),
                num_retries=draw.between(2, 9),
                batch=draw.one((4, 8, 16, 32, 64)),
            )
        )
    return Component(
        name=f"{subject}_{role}",
        type_name=f"{subject.capitalize()}{role.capitalize()}",
        item=f"{subject}_entry",
        capacity=draw.one((64, 128, 256, 512, 1024, 4096)),
        period_ms=draw.between(2, 80),
        handlers=tuple(handlers),
    )


_SOURCE_HEAD = """\
// {type_name}: keeps one {item} for each user and moves it between its states.
// Written by the demo generator; it stands for the source files of a radio stack.

#include "{name}.h"

#include <algorithm>
#include <chrono>

namespace demo_stack {{

{type_name}::{type_name}(const {type_name}Config& config, Logger& logger)
  : config_(config), logger_(logger), entries_(), free_ids_()
{{
  // All identifiers are handed out in advance, so that no handler allocates memory on the fast path.
  free_ids_.reserve({capacity});
  for (unsigned id = 0; id != {capacity}; ++id) {{
    free_ids_.push_back({capacity} - 1 - id);
  }}
  logger_.info("{name}: ready with {{}} identifiers and a period of {period_ms} ms", free_ids_.size());
}}
"""
_SOURCE_HANDLER = """\

/// Handles {event}: an entry in state {state} goes to {next_state} once its {metric} is at most {limit}.
bool {type_name}::handle_{event}(const EventMessage& message, TimePoint now)
{{
  auto found = entries_.find(message.user_id);
  if (found == entries_.end()) {{
    logger_.warning("{event}: user {{}} is unknown, the message is dropped", message.user_id);
    ++statistics_.num_unknown_users;
    return false;
  }}

  {item}& entry = found->second;
  if (entry.state != State::{state}) {{
    logger_.debug("{event}: user {{}} is in state {{}} instead of {state}", message.user_id, to_string(entry.state));
    ++statistics_.num_wrong_state;
    return false;
  }}

  // The oldest samples are judged first; more than {batch} at a time would delay the slot.
  unsigned num_judged = 0;
  unsigned num_above  = 0;
  for (const Sample& sample : entry.samples) {{
    if (num_judged == {batch}) {{
      break;
    }}
    if (sample.{metric} > {limit}) {{
      ++num_above;
    }}
    ++num_judged;
  }}

  if (num_above * 2 > num_judged) {{
    // Most samples are above the limit: try again when {timer} expires, at most {num_retries} times.
    if (entry.num_attempts == {num_retries}) {{
      logger_.error("{event}: user {{}} gave up after {num_retries} attempts", message.user_id);
      release_entry(entry, Cause::{metric}_too_high);
      return false;
    }}
    ++entry.num_attempts;
    timers_.start(TimerId::{timer}, message.user_id, now + std::chrono::milliseconds({timer_ms}));
    return true;
  }}

  timers_.stop(TimerId::{timer}, message.user_id);
  entry.num_attempts = 0;
  entry.state        = State::{next_state};
  entry.changed_at   = now;
  notifier_.on_state_change(message.user_id, State::{state}, State::{next_state});
  return true;
}}
"""
_SOURCE_HELPER = """\

/// Returns the smoothed {metric} of the last {batch} samples, which {event} compares with {limit}.
double {type_name}::smoothed_for_{event}(const {item}& entry) const
{{
  // Newer samples weigh more: each one counts {num_retries} times as much as the smoothed value before it.
  double   smoothed = 0.0;
  unsigned num_used = 0;
  for (auto sample = entry.samples.rbegin(); sample != entry.samples.rend(); ++sample) {{
    if (num_used == {batch}) {{
      break;
    }}
    if (!sample->is_valid) {{
      // A sample of a slot without traffic says nothing about the {metric}.
      continue;
    }}
    const double value = std::clamp<double>(sample->{metric}, 0.0, 2.0 * {limit});
    smoothed           = num_used == 0 ? value : (smoothed + {num_retries} * value) / (1 + {num_retries});
    ++num_used;
  }}
  if (num_used < {batch} / 2) {{
    logger_.debug("{event}: {{}} samples are too few, the limit {limit} is assumed", num_used);
    return {limit};
  }}
  return smoothed;
}}
"""
_SOURCE_TAIL = """\

void {type_name}::release_entry({item}& entry, Cause cause)
{{
  timers_.stop_all(entry.user_id);
  notifier_.on_release(entry.user_id, cause);
  free_ids_.push_back(entry.id);
  entries_.erase(entry.user_id);
}}

/// Called every {period_ms} ms: entries without a sample for ten periods are released.
void {type_name}::run_period(TimePoint now)
{{
  std::vector<{item}*> stale;
  for (auto& [user_id, entry] : entries_) {{
    if (now - entry.changed_at > std::chrono::milliseconds(10 * {period_ms})) {{
      stale.push_back(&entry);
    }}
  }}
  for ({item}* entry : stale) {{
    release_entry(*entry, Cause::silent);
  }}
}}

}} // namespace demo_stack
"""
_HEADER_HEAD = """\
#pragma once

#include "event_message.h"
#include "logger.h"
#include "timers.h"

#include <unordered_map>
#include <vector>

namespace demo_stack {{

/// Values that an operator may set; {name}.yaml holds them with their defaults.
struct {type_name}Config {{
  /// The number of users that are served at the same time.
  unsigned capacity = {capacity};
  /// The time between two calls of run_period, in milliseconds.
  unsigned period_ms = {period_ms};
"""
_HEADER_LIMIT = """\
  /// The highest {metric} with which {event} lets a user go from {state} to {next_state}.
  unsigned {event}_limit = {limit};
  /// How long {event} waits before it judges the samples again ({timer}), in milliseconds.
  unsigned {event}_wait_ms = {timer_ms};
"""
_HEADER_CLASS = """\
}};

/// One {item} for each user, with the samples that decide on its state.
class {type_name} {{
public:
  {type_name}(const {type_name}Config& config, Logger& logger);

  /// Releases what has been silent for ten periods; to be called every {period_ms} ms.
  void run_period(TimePoint now);

"""
_HEADER_HANDLER = """\
  /// Returns false if the user is unknown, is not in state {state}, or gave up after {num_retries} attempts.
  bool handle_{event}(const EventMessage& message, TimePoint now);
  /// Returns the {metric} that counts for {event}, or {limit} where fewer than half of {batch} samples are valid.
  double smoothed_for_{event}(const {item}& entry) const;

"""
_HEADER_TAIL = """\
private:
  void release_entry({item}& entry, Cause cause);

  {type_name}Config                      config_;
  Logger&                                logger_;
  std::unordered_map<unsigned, {item}>   entries_;
  std::vector<unsigned>                  free_ids_;
}};

}} // namespace demo_stack
"""


def _source(component: Component) -> str:
    facts = vars(component)
    handlers = ((_SOURCE_HANDLER + _SOURCE_HELPER).format(**facts, **vars(handler)) for handler in component.handlers)
    return _SOURCE_HEAD.format(**facts) + "".join(handlers) + _SOURCE_TAIL.format(**facts)


def _header(component: Component) -> str:
    facts = vars(component)
    parts = [_HEADER_HEAD.format(**facts)]
    parts += [_HEADER_LIMIT.format(**vars(handler)) for handler in component.handlers]
    parts.append(_HEADER_CLASS.format(**facts))
    parts += [_HEADER_HANDLER.format(**facts, **vars(handler)) for handler in component.handlers]
    parts.append(_HEADER_TAIL.format(**facts))
    return "".join(parts)


def _configuration(component: Component) -> str:
    lines = [
        f"# Defaults of the {component.name}. Each value may be changed while the component runs, except capacity.",
        f"{component.name}:",
        f"  capacity: {component.capacity}",
        f"  period_ms: {component.period_ms}",
        "  handlers:",
    ]
    for handler in component.handlers:
        lines += [
            f"    # Applies to users in state {handler.state}; the next state is {handler.next_state}.",
            f"    {handler.event}:",
            f"      metric: {handler.metric}",
            f"      limit: {handler.limit}",
            f"      timer: {handler.timer}",
            f"      wait_ms: {handler.timer_ms}",
            f"      max_attempts: {handler.num_retries}",
            f"      samples_per_slot: {handler.batch}",
        ]
    return "\n".join(lines) + "\n"


def _notes(component: Component) -> str:
    def sections() -> Iterator[str]:
        yield f"# {component.type_name}"
        yield (
            f"The {component.name} keeps one `{component.item}` for each of up to {component.capacity} users. It is "
            f"driven by events, and by a call of `run_period` every {component.period_ms} ms that releases silent "
            "users."
        )
        yield f"![states of an entry](states_of_{component.name}.svg)"
        yield "## Limits"
        rows = "\n".join(f"| {h.event} | at most {h.limit} | {h.timer}: {h.timer_ms} ms |" for h in component.handlers)
        yield f"| event | limit of the metric | waiting time |\n|---|---|---|\n{rows}"
        for handler in component.handlers:
            yield f"## How {handler.event} is handled"
            yield (
                f"A user in state `{handler.state}` goes to `{handler.next_state}` when at least half of the last "
                f"{handler.batch} samples have a {handler.metric} of {handler.limit} or less. Otherwise timer "
                f"{handler.timer} runs for {handler.timer_ms} ms and the samples are judged again. After "
                f"{handler.num_retries} attempts the user is released with the cause `{handler.metric}_too_high`."
            )
        yield "## Configuration"
        first = component.handlers[0]
        yield (
            f"Operators who see many releases raise the limit of {first.event} first:\n\n"
            f"```yaml\n{component.name}:\n  handlers:\n    {first.event}:\n      limit: {first.limit * 2}\n```"
        )

    return "\n\n".join(sections()) + "\n"


def component_files(seed: int, corpus: str, index: int) -> dict[str, bytes]:
    """Return the files of component `index` by their path in the corpus: about 7,000 to 9,000 cl100k_base tokens."""
    component = _component(seed, corpus, index)
    folder = f"{component.name}_{index:06d}"
    return {
        f"{folder}/{component.name}.cpp": _source(component).encode(),
        f"{folder}/{component.name}.h": _header(component).encode(),
        f"{folder}/{component.name}.yaml": _configuration(component).encode(),
        f"{folder}/README.md": _notes(component).encode(),
    }
