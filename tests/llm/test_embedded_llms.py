"""The two small language models of the demo."""

import pytest

from teleembed_ray.demo.models import embedded_available, embedded_model
from teleembed_ray.llm.protocol import Sampling
from teleembed_ray.llm.transformers_engine import TransformersEngine, load_transformers_engine
from teleembed_ray.questions.prompts import CRITERIA, FEW_SHOT_ENDINGS, few_shot_prefix, generator_messages

PASSAGE = "The UE starts the timer T300 when it sends RRCSetupRequest and stops it when RRCSetup arrives."


def load(name: str) -> TransformersEngine:
    if not embedded_available(name):
        pytest.skip(f"the package with {name} is not installed")
    return load_transformers_engine(str(embedded_model(name)), threads=1, max_model_len=2048)


@pytest.mark.models
def test_smollm2_writes_a_question_twice_the_same_with_one_start_token_a_turn() -> None:
    engine = load("SmolLM2-135M-Instruct")
    messages = generator_messages(PASSAGE)
    ids = engine.encode(messages)
    starts = [token for token in ids if token == engine.tokenizer.convert_tokens_to_ids("<|im_start|>")]
    # One for each message and one for the reply: none was added in front.
    assert len(starts) == len(messages) + 1
    replies = engine.generate([messages], Sampling(32, 0.0, seed=0))
    assert replies[0].finish_reason == "stop"
    assert replies[0].text.endswith("?")
    assert engine.generate([messages], Sampling(32, 0.0, seed=0)) == replies


@pytest.mark.models
def test_gemma_reads_one_bos_and_the_endings_as_they_stand_in_the_whole_text() -> None:
    engine = load("gemma-3-270m")
    prefix = few_shot_prefix(PASSAGE, "When does the UE start T300?")
    tokens = engine.encode(prefix)
    assert tokens.count(engine.tokenizer.bos_token_id) == 1
    for name in CRITERIA:
        ending = FEW_SHOT_ENDINGS[name]
        # Cut between prefix and ending, the text must give the tokens of the whole: else the model reads another text.
        assert tokens + engine.tokenizer(ending, add_special_tokens=False)["input_ids"] == engine.encode(
            prefix + ending
        )
