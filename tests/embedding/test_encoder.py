"""Encoder and kernels against Sentence Transformers itself and against pooling worked out here."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModel, BertConfig, BertModel, PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

from teleembed_ray import schemas
from teleembed_ray.demo.models import embedded_available, embedded_model
from teleembed_ray.embedding.card import ModelCard, load_card
from teleembed_ray.embedding.encoder import Encoder, cut_batches, load_encoder
from teleembed_ray.embedding.kernel import embed_chunks_table, embed_questions_table
from teleembed_ray.errors import ConfigError

CARDS = Path(__file__).parents[2] / "configs" / "models"
WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "q:", "d:", *(f"w{i}" for i in range(30))]
SPECIAL = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "CLS", "SEP", "UNK")}


def save_tiny(folder: Path, pooling: str) -> Path:
    """BERT with padding on the right, or for last-token pooling Qwen3 with padding on the left, as published."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=SPECIAL["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    side = "left" if pooling == "lasttoken" else "right"
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side=side, model_max_length=32, **SPECIAL)
    torch.manual_seed(0)
    shape = {"vocab_size": len(WORDS), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 2, "max_position_embeddings": 32}
    backbone: Any
    if pooling == "lasttoken":
        backbone = Qwen3Model(Qwen3Config(**shape, num_key_value_heads=1, head_dim=8, initializer_range=0.5))
    else:
        backbone = BertModel(BertConfig(**shape, initializer_range=0.5))
    backbone.save_pretrained(folder / "bare")
    fast.save_pretrained(folder / "bare")
    transformer = Transformer(str(folder / "bare"))
    SentenceTransformer(modules=[transformer, Pooling(16, pooling_mode=pooling)]).save_pretrained(str(folder / "model"))
    return folder / "model"


def card_of(pooling: str = "cls", **changes: Any) -> ModelCard:
    values = {"name": "tiny", "hub_id": "x/tiny", "num_dims": 16, "max_tokens": 12, "licence": "MIT"}
    return ModelCard.model_validate(values | {"num_parameters": 1, "pooling": pooling} | changes)


def words(num_words: int, start: int = 0) -> str:
    return " ".join(f"w{(start + 7 * i) % 30}" for i in range(num_words))


TEXTS = [words(3), words(25, 2), words(3), words(7, 5), words(1, 8), words(10, 4)]


def pooled_by_hand(folder: Path, text: str, pooling: str, max_tokens: int) -> np.ndarray[Any, Any]:
    """One text at a time, no padding: the backbone's states pooled and normalised here."""
    backbone = AutoModel.from_pretrained(folder).eval()
    tokens = [1, *[WORDS.index(word) for word in text.split()][: max_tokens - 2], 2]
    with torch.inference_mode():
        states_TD = backbone(torch.tensor([tokens])).last_hidden_state[0].numpy()
    vector_D = {"cls": states_TD[0], "lasttoken": states_TD[-1], "mean": states_TD.mean(0)}[pooling]
    return np.asarray(vector_D / np.linalg.norm(vector_D))


@pytest.mark.parametrize("pooling", ["cls", "lasttoken", "mean"])
def test_vectors_are_those_pooled_by_hand_whatever_the_pooling_and_padding(tmp_path: Path, pooling: str) -> None:
    folder = save_tiny(tmp_path, pooling)
    encoder = load_encoder(card_of(pooling), str(folder), batch_tokens=48)
    vectors_ND, truncated_N = encoder.encode(TEXTS, list("abcdef"))
    for text, vector_D in zip(TEXTS, vectors_ND, strict=True):
        assert np.allclose(vector_D, pooled_by_hand(folder, text, pooling, 12), atol=1e-5)
    assert vectors_ND.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors_ND, axis=1), 1, atol=1e-6)
    # 25 words and two special tokens exceed the 12 of the card; 10 words and two just fit.
    assert truncated_N.tolist() == [False, True, False, False, False, False]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"), "mean")


class Recorder:
    """Stands before a model and keeps what it is given."""

    def __init__(self, model: Any) -> None:
        self.model, self.tokenizer, self.seen = model, model.tokenizer, list[str]()

    def encode(self, texts: Sequence[str], **kwargs: Any) -> Any:
        assert kwargs["prompt"] == ""
        self.seen += texts
        return self.model.encode(list(texts), **kwargs)


def recorded(encoder: Encoder) -> tuple[Encoder, Recorder]:
    recorder = Recorder(encoder.model)
    return replace(encoder, model=recorder), recorder


def chunks_of(texts: Sequence[str]) -> pa.Table:
    rows = [{"chunk_id": f"c{i}", "corpus": "oran", "chunk_size": 512, "text": text} for i, text in enumerate(texts)]
    return pa.Table.from_pylist(rows, schemas.CHUNKS)


def pairs_of(texts: Sequence[str]) -> pa.Table:
    rows = [
        {"question_id": f"q{i}", "chunk_id": "c", "corpus": "oran", "chunk_size": 512, "question": text}
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schemas.PAIRS)


def test_query_and_document_prompts_reach_the_model_once_and_never_the_other_side(tiny: Path) -> None:
    card = card_of("mean", query_prompt="q: ", document_prompt="d: {text}")
    # A prompt of the model's own must not come on top of the card's.
    encoder, recorder = recorded(load_encoder(card, str(tiny)))
    recorder.model.prompts = {"query": "w9 ", "document": "w9 "}
    recorder.model.default_prompt_name = "query"
    embed_questions_table(pairs_of(["w1 w2", "w3"]), encoder)
    assert sorted(recorder.seen) == ["q: w1 w2", "q: w3"]
    recorder.seen.clear()
    embed_chunks_table(chunks_of(["w1 w2", "w3"]), encoder)
    assert sorted(recorder.seen) == ["d: w1 w2", "d: w3"]


def test_each_distinct_text_is_computed_once_and_comes_back_at_all_its_places(tiny: Path) -> None:
    encoder, recorder = recorded(load_encoder(card_of("mean"), str(tiny), batch_tokens=16))
    out = embed_chunks_table(chunks_of(TEXTS), encoder)
    assert sorted(recorder.seen) == sorted(set(TEXTS))
    assert out.schema == schemas.vectors(16)
    assert out["id"].to_pylist() == [f"c{i}" for i in range(6)]
    assert set(out["kind"].to_pylist()) == {"chunk"}
    vectors = out["vector"].to_pylist()
    assert vectors[0] == vectors[2]
    assert vectors[0] != vectors[3]
    turned = embed_chunks_table(chunks_of(TEXTS[::-1]), encoder)
    assert turned["vector"].to_pylist() == vectors[::-1]


def test_a_vector_does_not_depend_on_what_it_was_batched_with(tiny: Path) -> None:
    alone = load_encoder(card_of("mean"), str(tiny), batch_tokens=1)
    together = load_encoder(card_of("mean"), str(tiny), batch_tokens=10_000)
    one_ND, all_ND = (encoder.encode(TEXTS, TEXTS)[0] for encoder in (alone, together))
    assert ((one_ND * all_ND).sum(1) > 1 - 1e-6).all()


def test_texts_that_differ_only_beyond_the_limit_are_marked_and_not_told_apart(tiny: Path) -> None:
    encoder = load_encoder(card_of("mean", max_tokens=8), str(tiny))
    out = embed_chunks_table(chunks_of([words(6) + " w1", words(6) + " w2", words(6)]), encoder)
    assert out["truncated"].to_pylist() == [True, True, False]
    first, second, _ = out["vector"].to_pylist()
    assert first == second


def test_a_vector_that_is_not_finite_is_refused_with_its_id(tiny: Path) -> None:
    encoder = load_encoder(card_of("mean"), str(tiny))
    with torch.no_grad():
        encoder.model[0].auto_model.embeddings.word_embeddings.weight[WORDS.index("w3")] = float("nan")
    with pytest.raises(ValueError, match="vector of c1 is not finite"):
        embed_chunks_table(chunks_of(["w1", "w3", "w2"]), encoder)


def test_no_rows_give_an_empty_table_of_the_same_schema(tiny: Path) -> None:
    out = embed_chunks_table(chunks_of([]), load_encoder(card_of("mean"), str(tiny)))
    assert (out.num_rows, out.schema) == (0, schemas.vectors(16))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_dims": 8}, "num_dims: 8: the model gives 16"),
        ({"pooling": "cls"}, "pooling: cls: the model's files say mean"),
        ({"max_tokens": 33}, "max_tokens: 33: the model reads at most 32"),
    ],
)
def test_a_card_that_contradicts_the_models_files_is_refused(tiny: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_encoder(card_of(**({"pooling": "mean"} | changes)), str(tiny))


def test_a_folder_without_safetensors_is_refused(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "mean")
    weights = folder / "model.safetensors"
    torch.save({}, folder / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder(card_of("mean"), str(folder))


def test_batches_are_a_function_of_the_texts_and_stay_within_the_budget() -> None:
    texts, lengths = ["b", "a", "ccc", "dd", "long"], [1, 1, 3, 2, 50]
    batches = cut_batches(texts, lengths, 6)
    assert [[texts[place] for place in batch] for batch in batches] == [["long"], ["ccc", "dd"], ["a", "b"]]
    turned = cut_batches(texts[::-1], lengths[::-1], 6)
    assert [[texts[::-1][place] for place in batch] for batch in turned] == [["long"], ["ccc", "dd"], ["a", "b"]]


@pytest.mark.models
@pytest.mark.parametrize("name", ["minilm", "mpnet"])
def test_a_real_model_gives_what_sentence_transformers_gives(name: str) -> None:
    card = load_card(CARDS / f"{name}.yaml")
    assert card.embedded is not None
    if not embedded_available(card.embedded):
        pytest.skip(f"the package with {card.embedded} is not installed")
    folder = str(embedded_model(card.embedded))
    texts = ["The UE starts T300.", "What is an S-NSSAI?", "RRC " * 400, "", "fronthaul C-plane section type 1"]
    vectors_ND, truncated_N = load_encoder(card, folder, threads=1).encode(texts, texts)
    expected_ND = SentenceTransformer(folder, device="cpu").encode(texts, normalize_embeddings=True)
    assert np.abs(vectors_ND - expected_ND).max() < 1e-5
    assert truncated_N.tolist() == [False, False, True, False, False]
