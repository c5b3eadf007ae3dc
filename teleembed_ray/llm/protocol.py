"""What every language model engine does: write replies, and weigh yes against no."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

# A raw text, or chat messages with "role" and "content".
Prompt = str | Sequence[Mapping[str, str]]
FinishReason = Literal["stop", "length", "error"]


@dataclass(frozen=True)
class Reply:
    """What became of one prompt; `error` is set, and `text` empty, exactly when `finish_reason` is "error"."""

    text: str
    finish_reason: FinishReason
    num_prompt_tokens: int
    num_output_tokens: int
    error: str | None = None


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

    def generate(self, prompts: Sequence[Prompt], max_tokens: int, temperature: float, seed: int) -> list[Reply]:
        """prompts -> replies, one each in the same order; greedy at temperature 0."""
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
