"""What every language model engine does: write replies, and weigh yes against no."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from teleembed_ray.config import EndpointConfig

# A raw text, or chat messages with "role" and "content".
Prompt = str | Sequence[Mapping[str, str]]
FinishReason = Literal["stop", "length", "error"]


@dataclass(frozen=True)
class Sampling:
    """How a reply is drawn: greedy at temperature 0; `seed` matters above it."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Reply:
    """What became of one prompt; `error` is set, and `text` empty, exactly when `finish_reason` is "error".

    `error` opens with one fixed word and a colon: prompt_too_long, refused, or engine_error for all else.
    `num_requests` counts what was sent for it: above 1 there were retries.
    """

    text: str
    finish_reason: FinishReason
    num_prompt_tokens: int
    num_output_tokens: int
    error: str | None = None
    num_requests: int = 1


@dataclass(frozen=True)
class YesNo:
    """log p(yes) - log p(no) after each ending of one prompt; `log_odds` is empty exactly when `error` is set."""

    log_odds: tuple[float, ...]
    num_prompt_tokens: int
    error: str | None = None


class Engine(Protocol):
    """A language model; a prompt that cannot be served is an answer with an error, never an exception."""

    @property
    def name(self) -> str:
        """The model as the configuration names it."""
        ...

    @property
    def revision(self) -> str | None:
        """Revision of the weights, null where none is known."""
        ...

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, schema: Mapping[str, Any] | None = None
    ) -> list[Reply]:
        """prompts -> replies, one each in the same order.

        An engine that can hold a model to a JSON schema does so; what it cannot hold it to is left to the parser.
        """
        ...

    def weigh_yes_no(self, prefixes: Sequence[str], endings: Sequence[Sequence[str]]) -> list[YesNo]:
        """(prefixes, endings of each) -> the log-odds of " yes" against " no" after prefix + ending, for every ending.

        A long prefix is computed once for all its endings. One answer a prefix, in the same order.
        """
        ...


class EngineSettings(Protocol):
    """What an engine needs to know about how its model is run."""

    @property
    def revision(self) -> str | None:
        """Pinned revision of a model on a hub."""
        ...

    @property
    def dtype(self) -> str:
        """float32, bfloat16 or float16."""
        ...

    @property
    def threads(self) -> int:
        """CPU threads."""
        ...

    @property
    def max_model_len(self) -> int:
        """Most tokens of prompt and reply together."""
        ...

    @property
    def endpoint(self) -> EndpointConfig | None:
        """The server of the openai engine, for that engine only."""
        ...
