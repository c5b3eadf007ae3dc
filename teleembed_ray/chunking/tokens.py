"""cl100k_base token counts with no network: the vocabulary comes with the bpe-openai package."""

from functools import cache
from typing import Any

# The package's public `encode` builds a list and refuses more than 200,000 tokens; the binding's `count` does neither.
from bpe_openai._bindings import tokenizer_for_encoding


@cache
def _cl100k() -> Any:
    return tokenizer_for_encoding("cl100k_base")


def count_tokens(text: str) -> int:
    """Return the number of cl100k_base tokens of `text`, as `len(tiktoken_encoding.encode_ordinary(text))` does.

    Text that spells a special token ("<|endoftext|>") is ordinary text. There is no limit on the length.
    """
    try:
        return int(_cl100k().count(text))
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form: tiktoken counts it as the replacement character, and so do we.
        return int(_cl100k().count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))
