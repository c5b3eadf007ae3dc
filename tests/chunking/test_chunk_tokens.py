"""Token counts against OpenAI's own tokenizer."""

import base64
import gzip
import hashlib
import time
from functools import cache
from importlib import resources

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from teleembed_ray.chunking.tokens import count_tokens

# The hash that tiktoken checks its download of cl100k_base against.
OPENAI_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


@cache
def reference() -> tiktoken.Encoding:
    """tiktoken's cl100k_base without a network: its code and pattern, the vocabulary file from bpe-openai's wheel."""
    packed = resources.files("bpe_openai.data").joinpath("cl100k_base.tiktoken.gz").read_bytes()
    vocabulary = gzip.decompress(packed)
    assert hashlib.sha256(vocabulary).hexdigest() == OPENAI_SHA256
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, vocabulary.splitlines())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", lambda url, expected_hash: ranks)
        return tiktoken.Encoding(**openai_public.cl100k_base())


@pytest.mark.parametrize(
    ("text", "num_tokens"),
    # Counts that OpenAI's cookbook publishes for cl100k_base.
    [
        ("", 0),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("\u304a\u8a95\u751f\u65e5\u304a\u3081\u3067\u3068\u3046", 9),
    ],
)
def test_counts_are_those_published_for_cl100k_base(text: str, num_tokens: int) -> None:
    assert count_tokens(text) == num_tokens


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "<|im_start|>"])
def test_a_special_token_in_a_source_file_is_ordinary_text(special: str) -> None:
    text = f'sep = "{special}"'
    assert count_tokens(text) == len(reference().encode_ordinary(text)) > 5


# White space that Unicode and the pattern treat apart, contractions in every case, digits, joiners, other scripts.
ODD = (
    "ab A'sSdlLve\n\r\t 12.,-_|<>{}"
    "\u00a0\u2003\u3000\u0085\u2028\u00e9\u00df\u0301\u65e5\U0001d4b3\u200d\u017f\u212a\u00b2\x1c"
)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(ODD, max_size=60), st.text(max_size=60)))
def test_counts_equal_tiktoken_on_any_text(text: str) -> None:
    assert count_tokens(text) == len(reference().encode_ordinary(text))


def test_a_lone_surrogate_counts_as_in_tiktoken() -> None:
    text = "before \ud800 after"
    assert count_tokens(text) == len(reference().encode_ordinary(text))


@pytest.mark.parametrize("text", ["a" * 100_000, "-" * 200_000, "^" * 1_000_000, " " * 200_000, "word " * 300_000])
def test_long_runs_and_texts_beyond_200_000_tokens_are_counted_in_linear_time(text: str) -> None:
    started = time.perf_counter()
    num_tokens = count_tokens(text)
    # A quadratic count takes minutes.
    assert time.perf_counter() - started < 60
    # A run's pieces merge in powers of two, so that twice the text has twice the tokens, up to the seam.
    assert num_tokens == pytest.approx(2 * count_tokens(text[: len(text) // 2]), abs=2)
