"""Language model in this process, by Transformers: for small models, for the demo and for tests.

Greedy replies are a function of the batch. Alone and in a batch the same prompt is summed in another order, so that in
floating point the two may differ after the first near-tie; nothing here promises more. Yes/no log-odds are computed one
prompt at a time and depend on the prompt only.

Shape suffixes: B prompts of a batch, E endings, T tokens.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, GenerationConfig

from teleembed_ray import ids
from teleembed_ray.errors import ConfigError
from teleembed_ray.llm.protocol import Prompt, Reply, Sampling, YesNo

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
YES, NO = " yes", " no"
# Padded tokens that pass through the model at once. It bounds memory and padding, and on a CPU more gains nothing.
MAX_BATCH_TOKENS = 16_384


@dataclass(frozen=True)
class TransformersEngine:
    """A causal language model with its tokenizer; made by `load_transformers_engine`."""

    name: str
    revision: str | None
    model: Any
    tokenizer: Any
    max_model_len: int

    def encode(self, prompt: Prompt) -> list[int]:
        """prompt -> token ids with at most one BOS; raises ConfigError for chat messages that the model cannot take.

        A chat template writes the special tokens itself, so its text is not tokenised as raw text would be.
        """
        if isinstance(prompt, str):
            tokens = list(self.tokenizer(prompt)["input_ids"])
        else:
            if not self.tokenizer.chat_template:
                raise ConfigError(
                    f"{self.name}: has no chat template: it is no instruct model; a base model can few_shot"
                )
            try:
                # Models that can think aloud are asked not to: a reply of a few dozen tokens has no room for it.
                tokens = list(
                    self.tokenizer.apply_chat_template(
                        [dict(message) for message in prompt],
                        add_generation_prompt=True,
                        return_dict=True,
                        enable_thinking=False,
                    )["input_ids"]
                )
            except jinja2.TemplateError as error:
                raise ConfigError(f"{self.name}: its chat template refuses the messages: {error}") from None
        has_two = len(tokens) > 1 and tokens[0] == tokens[1] == self.tokenizer.bos_token_id
        return tokens[1:] if has_two else tokens

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, schema: Mapping[str, Any] | None = None
    ) -> list[Reply]:
        """prompts -> replies, one each in the same order; the result is a function of the arguments.

        A prompt whose tokens and `max_tokens` together exceed `max_model_len` is answered by an error, unseen by the
        model. Transformers cannot hold a model to a schema, so `schema` changes nothing.
        """
        encoded = [self.encode(prompt) for prompt in prompts]
        replies: dict[int, Reply] = {}
        for index, tokens in enumerate(encoded):
            if len(tokens) + sampling.max_tokens > self.max_model_len:
                detail = (
                    f"{len(tokens)} prompt tokens + {sampling.max_tokens} exceed max_model_len {self.max_model_len}"
                )
                replies[index] = Reply("", "error", len(tokens), 0, f"prompt_too_long: {detail}")
        fitting = [index for index in range(len(encoded)) if index not in replies]
        for batch in cut_batches({index: len(encoded[index]) for index in fitting}, MAX_BATCH_TOKENS):
            written = self._generate_batch([encoded[index] for index in batch], sampling)
            replies.update(zip(batch, written, strict=True))
        return [replies[index] for index in range(len(prompts))]

    def _generate_batch(self, encoded: Sequence[list[int]], sampling: Sampling) -> list[Reply]:
        pad, eos = self.tokenizer.pad_token_id, self.model.generation_config.eos_token_id
        length = max(map(len, encoded))
        # Padding stands on the left, so that every prompt ends where its reply begins.
        tokens_BT = torch.tensor([[pad] * (length - len(tokens)) + tokens for tokens in encoded])
        mask_BT = torch.tensor([[0] * (length - len(tokens)) + [1] * len(tokens) for tokens in encoded])
        is_sampled = sampling.temperature > 0
        config = GenerationConfig(
            max_new_tokens=sampling.max_tokens,
            do_sample=is_sampled,
            temperature=sampling.temperature if is_sampled else None,
            top_p=sampling.top_p if is_sampled else None,
            top_k=0 if is_sampled else None,
            eos_token_id=eos,
            pad_token_id=pad,
        )
        # Samples depend on what is asked, not on what this process drew before.
        content = ids.digest(sampling.seed, *(token for tokens in encoded for token in tokens))
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(int(content[:15], 16))
            out_BT = self.model.generate(
                tokens_BT.to(self.model.device),
                attention_mask=mask_BT.to(self.model.device),
                generation_config=config,
            )
        return [self._read(len(tokens), row[length:]) for tokens, row in zip(encoded, out_BT.tolist(), strict=True)]

    def _read(self, num_prompt_tokens: int, tokens: list[int]) -> Reply:
        """Return the reply up to its first end token, which counts as an output token; what follows is padding."""
        eos = self.model.generation_config.eos_token_id
        ends = {eos} if isinstance(eos, int) else set(eos or ())
        end = next((place for place, token in enumerate(tokens) if token in ends), None)
        text = self.tokenizer.decode(tokens[:end], skip_special_tokens=True)
        if end is None:
            return Reply(text, "length", num_prompt_tokens, len(tokens))
        return Reply(text, "stop", num_prompt_tokens, end + 1)

    def weigh_yes_no(self, prefixes: Sequence[str], endings: Sequence[Sequence[str]]) -> list[YesNo]:
        """(prefixes, endings of each) -> log p(" yes") - log p(" no") after prefix + ending, for every ending.

        A prefix passes through the model once; its key/value cache serves all its endings. One prefix at a time:
        without padding the result depends on the prompt only, and on a CPU a long prompt alone keeps all cores busy.
        """
        choices = tuple(single_token(self.tokenizer, word) for word in (YES, NO))
        answers = []
        for prefix, own_endings in zip(prefixes, endings, strict=True):
            tokens = self.encode(prefix)
            ends = [list(self.tokenizer(end, add_special_tokens=False)["input_ids"]) for end in own_endings]
            num_tokens = len(tokens) + sum(map(len, ends))
            longest = len(tokens) + max(map(len, ends)) + 1
            if longest > self.max_model_len:
                error = f"prompt_too_long: {longest} tokens exceed max_model_len {self.max_model_len}"
                answers.append(YesNo((), num_tokens, error))
                continue
            logits_E2 = self._logits(tokens, ends, choices)
            answers.append(YesNo(tuple((logits_E2[:, 0] - logits_E2[:, 1]).tolist()), num_tokens))
        return answers

    def _logits(self, prefix: list[int], endings: Sequence[list[int]], choices: tuple[int, ...]) -> torch.Tensor:
        """Logits of the choices after prefix + ending, float32, one row an ending."""
        device, length = self.model.device, max(map(len, endings))
        # Padding stands on the right, where causal attention never looks.
        tokens_ET = torch.tensor([tokens + [0] * (length - len(tokens)) for tokens in endings], device=device)
        last_E = torch.tensor([len(tokens) - 1 for tokens in endings], device=device)
        cache = DynamicCache(config=self.model.config)
        # Renamed during Transformers 5.
        cached = {"cache" if "cache" in inspect.signature(self.model.forward).parameters else "past_key_values": cache}
        # The head is wide (262,144 words for Gemma), so it is applied only where an ending ends.
        places, place_of_E = torch.unique(last_E, return_inverse=True)
        with torch.inference_mode():
            self.model(torch.tensor([prefix], device=device), use_cache=True, logits_to_keep=1, **cached)
            cache.batch_repeat_interleave(len(endings))
            out = self.model(
                tokens_ET,
                position_ids=torch.arange(len(prefix), len(prefix) + length, device=device).expand(len(endings), -1),
                logits_to_keep=places,
                use_cache=True,
                **cached,
            )
            rows_E = torch.arange(len(endings), device=device)
            found: torch.Tensor = out.logits[rows_E, place_of_E][:, list(choices)].float().cpu()
        return found


def cut_batches(lengths: dict[int, int], max_tokens: int) -> list[list[int]]:
    """lengths -> batches of keys, short ones together, each below `max_tokens` with its padding or of one key.

    The cut is a function of the lengths; equal lengths keep their order.
    """
    batches: list[list[int]] = []
    for key in sorted(lengths, key=lambda key: (lengths[key], key)):
        if batches and (len(batches[-1]) + 1) * lengths[key] <= max_tokens:
            batches[-1].append(key)
        else:
            batches.append([key])
    return batches


def single_token(tokenizer: Any, word: str) -> int:
    """Return the one token of a word, or raise ConfigError: odds of a part of a word would mean nothing."""
    tokens = tokenizer(word, add_special_tokens=False)["input_ids"]
    if len(tokens) != 1:
        raise ConfigError(f"{tokenizer.name_or_path}: {word!r} is {len(tokens)} tokens, so few_shot cannot weigh it")
    return int(tokens[0])


def load_transformers_engine(
    location: str,
    *,
    name: str | None = None,
    revision: str | None = None,
    dtype: str = "float32",
    threads: int = 2,
    max_model_len: int = 4096,
) -> TransformersEngine:
    """Load a causal language model from a folder or a hub id, on a GPU where there is one.

    Only safetensors are read and no code from the model is run. `threads` holds for the whole process. Raises
    ConfigError for a model that cannot be loaded and for a `max_model_len` beyond the model's own limit.
    """
    torch.set_num_threads(threads)
    source = {"revision": revision, "local_files_only": Path(location).is_dir(), "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(location, **source)
        model = AutoModelForCausalLM.from_pretrained(location, dtype=DTYPES[dtype], use_safetensors=True, **source)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model {location}: cannot be loaded: {' '.join(str(error).split())}") from error
    limit = getattr(model.config, "max_position_embeddings", None)
    if limit is not None and max_model_len > limit:
        raise ConfigError(f"max_model_len: {max_model_len}: {name or location} takes at most {limit} tokens")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    # What a model's author likes to sample with must not leak into greedy replies; where they end must be kept.
    model.generation_config = GenerationConfig(
        eos_token_id=model.generation_config.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return TransformersEngine(name or location, revision, model.to(device).eval(), tokenizer, max_model_len)
