"""The in-process engine on tiny models made here, with Transformers' plain forward pass as the other opinion."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from teleembed_ray.errors import ConfigError
from teleembed_ray.llm.protocol import Sampling
from teleembed_ray.llm.transformers_engine import (
    MAX_BATCH_TOKENS,
    TransformersEngine,
    cut_batches,
    load_transformers_engine,
    single_token,
)

WORDS = ["<pad>", "<bos>", "<eos>", "<unk>", "yes", "no", "user", "bot", *(f"w{i}" for i in range(40))]
TEMPLATE = "<bos>{% for m in messages %} {{ m['role'] }} {{ m['content'] }}{% endfor %} bot"
SMALL = {"vocab_size": len(WORDS), "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "head_dim": 8}
SPECIAL = {f"{name}_token": f"<{name}>" for name in ("pad", "bos", "eos", "unk")}
TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def save_tokenizer(folder: Path, template: str | None) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=SPECIAL["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 1)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=template, **SPECIAL).save_pretrained(folder)


@pytest.fixture(scope="module", params=["llama", "gemma3 with a sliding window of 8"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_tokenizer(folder, TEMPLATE)
    torch.manual_seed(0)
    model: Any
    if request.param == "llama":
        shape = SMALL | {"num_hidden_layers": 2, "num_key_value_heads": 2, "max_position_embeddings": 128}
        model = LlamaForCausalLM(LlamaConfig(**shape, **TOKENS, initializer_range=0.6))
    else:
        shape = SMALL | {"num_hidden_layers": 3, "num_key_value_heads": 1, "max_position_embeddings": 128}
        layers = ["sliding_attention", "sliding_attention", "full_attention"]
        model = Gemma3ForCausalLM(
            Gemma3TextConfig(**shape, **TOKENS, sliding_window=8, layer_types=layers, initializer_range=0.6)
        )
    model.generation_config.do_sample = True
    model.generation_config.temperature = 1.5
    model.generation_config.repetition_penalty = 1.4
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> TransformersEngine:
    return load_transformers_engine(str(folder), name="tiny", max_model_len=64)


def text(num_words: int, start: int = 0) -> str:
    return " ".join(f"w{(start + 7 * i) % 40}" for i in range(num_words))


def plain_greedy(engine: TransformersEngine, tokens: list[int], num_tokens: int) -> list[int]:
    """Argmax after a full forward pass for every token: no cache, no padding, no generate()."""
    out: list[int] = []
    with torch.inference_mode():
        while len(out) < num_tokens and 2 not in out:
            out.append(int(engine.model(torch.tensor([tokens + out])).logits[0, -1].argmax()))
    return out


def test_greedy_replies_in_a_padded_batch_are_those_of_a_plain_forward_pass(engine: TransformersEngine) -> None:
    prompts = [text(3), text(30, 5), text(11, 9), text(1, 2)]
    replies = engine.generate(prompts, Sampling(12, 0.0, seed=0))
    expected = [plain_greedy(engine, engine.encode(prompt), 12) for prompt in prompts]
    assert [reply.text for reply in replies] == [
        engine.tokenizer.decode(tokens, skip_special_tokens=True) for tokens in expected
    ]
    assert [reply.num_output_tokens for reply in replies] == [len(tokens) for tokens in expected]
    assert [reply.num_prompt_tokens for reply in replies] == [4, 31, 12, 2]
    # Two prompts that a model answers alike would make the test blind to a mix-up.
    assert len({reply.text for reply in replies}) == 4


def test_what_stands_after_the_end_token_is_padding_and_no_text(engine: TransformersEngine) -> None:
    stopped = engine._read(9, [10, 11, 2, 0, 0])
    assert (stopped.text, stopped.finish_reason, stopped.num_output_tokens) == ("w2 w3", "stop", 3)
    cut = engine._read(9, [10, 11, 12])
    assert (cut.text, cut.finish_reason, cut.num_output_tokens) == ("w2 w3 w4", "length", 3)


def test_a_prompt_one_token_too_long_is_an_error_and_the_others_are_served(engine: TransformersEngine) -> None:
    # 64 tokens in all: BOS + 53 words + 10 new ones fit, one word more does not.
    replies = engine.generate([text(53), text(54), text(3)], Sampling(10, 0.0, seed=0))
    assert [reply.finish_reason == "error" for reply in replies] == [False, True, False]
    assert replies[1].text == ""
    assert (replies[1].error or "").startswith("prompt_too_long: 55 prompt tokens + 10")
    assert replies[2] == engine.generate([text(3)], Sampling(10, 0.0, seed=0))[0]


def test_nothing_asked_is_nothing_answered(engine: TransformersEngine) -> None:
    assert engine.generate([], Sampling(10, 0.0, seed=0)) == []
    assert engine.weigh_yes_no([], []) == []


def test_log_odds_from_the_shared_prefix_are_those_of_the_whole_text(engine: TransformersEngine) -> None:
    endings = [[text(4, 3), text(9, 1), text(1, 6)], [text(2, 8)]]
    prefixes = [text(25), text(3, 4)]
    answers = engine.weigh_yes_no(prefixes, endings)
    for prefix, ends, answer in zip(prefixes, endings, answers, strict=True):
        for end, log_odds in zip(ends, answer.log_odds, strict=True):
            with torch.inference_mode():
                tokens = torch.tensor([engine.encode(f"{prefix} {end}")])
                scores = engine.model(tokens).logits[0, -1].log_softmax(-1)
            assert log_odds == pytest.approx(float(scores[4] - scores[5]), abs=1e-4)


def test_log_odds_do_not_depend_on_order_or_company(engine: TransformersEngine) -> None:
    prefixes = [text(5), text(20, 3), text(9, 7)]
    endings = [[text(2, 8), text(5, 1)]] * 3
    together = engine.weigh_yes_no(prefixes, endings)
    assert engine.weigh_yes_no(prefixes[::-1], endings)[::-1] == together
    assert [engine.weigh_yes_no([prefix], endings[:1])[0] for prefix in prefixes] == together


def test_a_prefix_that_is_too_long_is_an_error_and_the_others_are_weighed(engine: TransformersEngine) -> None:
    # BOS + 60 words + an ending of 2 + the answer make 64 tokens.
    answers = engine.weigh_yes_no([text(60), text(61)], [[text(2)]] * 2)
    assert [answer.error is None for answer in answers] == [True, False]
    assert answers[1].log_odds == ()


def test_a_chat_template_with_bos_gives_one_bos(engine: TransformersEngine) -> None:
    tokens = engine.encode([{"role": "user", "content": "w1 w2"}])
    assert [WORDS[token] for token in tokens] == ["<bos>", "user", "w1", "w2", "bot"]
    assert engine.encode("w1 w2") == [1, 9, 10]
    assert engine.encode("<bos> w1 w2") == [1, 9, 10]


def test_samples_follow_the_seed_and_leave_the_process_generator_alone(engine: TransformersEngine) -> None:
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    first = engine.generate([text(6)], Sampling(20, 5.0, seed=1))
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(4)
    assert engine.generate([text(6)], Sampling(20, 5.0, seed=1)) == first
    assert engine.generate([text(6)], Sampling(20, 5.0, seed=2)) != first


def test_a_base_model_without_a_template_refuses_chat_messages(tmp_path: Path, folder: Path) -> None:
    save_tokenizer(tmp_path, None)
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(folder / name)
    base = load_transformers_engine(str(tmp_path), max_model_len=64)
    with pytest.raises(ConfigError, match="no chat template"):
        base.encode([{"role": "user", "content": "w1"}])


def test_a_length_beyond_the_model_is_refused_at_load(folder: Path) -> None:
    with pytest.raises(ConfigError, match="max_model_len: 129"):
        load_transformers_engine(str(folder), max_model_len=129)


def test_pickled_weights_are_refused(tmp_path: Path, folder: Path) -> None:
    save_tokenizer(tmp_path, TEMPLATE)
    (tmp_path / "config.json").symlink_to(folder / "config.json")
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_transformers_engine(str(tmp_path), max_model_len=64)


def test_odds_of_half_a_word_are_refused(engine: TransformersEngine) -> None:
    assert single_token(engine.tokenizer, " yes") == 4
    with pytest.raises(ConfigError, match="2 tokens"):
        single_token(engine.tokenizer, "yes no")


def test_batches_hold_like_lengths_and_stay_within_the_padded_limit() -> None:
    lengths = {0: 900, 1: 10, 2: 500, 3: 12, 4: 500, 5: 5000}
    assert cut_batches(lengths, 1000) == [[1, 3], [2, 4], [0], [5]]
    assert cut_batches({}, MAX_BATCH_TOKENS) == []
