"""Model cards: what they say reaches the model, and what is wrong is named."""

from pathlib import Path

import pytest

from teleembed_ray.embedding.card import ModelCard, load_card
from teleembed_ray.errors import ConfigError

CARDS = Path(__file__).parents[2] / "configs" / "models"
GOOD = """\
name: tiny
hub_id: someone/tiny
num_dims: 8
max_tokens: 16
pooling: mean
licence: MIT
num_parameters: 1000
"""


def test_all_cards_load_under_the_name_of_their_file() -> None:
    cards = {path.stem: load_card(path) for path in CARDS.glob("*.yaml")}
    assert {stem: card.name for stem, card in cards.items()} == {stem: stem for stem in cards}
    assert {stem: card.num_dims for stem, card in cards.items()} == {
        "minilm": 384,
        "mpnet": 768,
        "bge-s": 384,
        "bge-m": 768,
        "bge-l": 1024,
        "multi-mpnet": 768,
        "egemma": 768,
        "qwen3": 1024,
        "qwen3-instruct": 1024,
        "e5-l": 1024,
        "otel": 1024,
    }


def test_what_each_model_reads_is_what_its_authors_wrote() -> None:
    texts = {path.stem: (load_card(path).query("Q"), load_card(path).document("D")) for path in CARDS.glob("*.yaml")}
    assert texts["minilm"] == texts["mpnet"] == texts["multi-mpnet"] == ("Q", "D")
    assert texts["bge-l"] == ("Represent this sentence for searching relevant passages: Q", "D")
    assert texts["e5-l"] == ("query: Q", "passage: D")
    assert texts["egemma"] == ("task: search result | query: Q", "title: none | text: D")
    assert texts["qwen3"] == texts["otel"] == ("Q", "D")
    assert texts["qwen3-instruct"][0].startswith("Instruct: Given a question about a telecom")
    assert texts["qwen3-instruct"][0].endswith("\nQuery:Q")
    assert texts["qwen3-instruct"][1] == "D"


def test_an_instruction_stands_before_queries_only() -> None:
    card = load_card(CARDS / "qwen3.yaml").model_copy(update={"instruction": "Find the telecom passage"})
    assert card.query("What is {x}?") == "Instruct: Find the telecom passage\nQuery:What is {x}?"
    assert card.document("D {text}") == "D {text}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_tokens: 16", "max_tokens: 0", r"tiny.yaml: max_tokens: 0: .*greater than or equal to 8"),
        ("pooling: mean", "pooling: median", r"tiny.yaml: pooling: 'median': "),
        ("num_dims: 8", "num_dims: '8'", r"tiny.yaml: num_dims: '8': "),
        ("licence: MIT\n", "", r"tiny.yaml: licence: is required and missing"),
        ("licence: MIT", "licence: MIT\nlimit: 3", r"tiny.yaml: limit: unknown key"),
        ("licence: MIT", "licence: MIT\nrevision: 1234567", r"revision: 1234567: .*quote it"),
        ("hub_id: someone/tiny\n", "", r"name a hub_id, a path or embedded weights"),
        ("licence: MIT", "licence: MIT\nquery_prompt: 'Q {texts}'", r"query_prompt: 'Q {texts}': .*no other braces"),
        ("licence: MIT", "licence: MIT\ninstruction: Find it", r"query_prompt has no {task}"),
        ("licence: MIT", "licence: MIT\ndocument_prompt: '{task}'", r"never before documents"),
        ("licence: MIT", "licence: MIT\nnormalize: false", r"normalize: must be true for similarity cosine"),
        ("name: tiny", "name: [tiny", r"is not valid YAML"),
    ],
)
def test_what_is_wrong_is_named_with_file_key_value_and_rule(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "tiny.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        load_card(path)


def test_the_good_card_is_good_and_cannot_be_changed(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(GOOD)
    card = load_card(tmp_path / "tiny.yaml")
    assert isinstance(card, ModelCard)
    with pytest.raises(ValueError, match="frozen"):
        card.num_dims = 9
    with pytest.raises(ConfigError, match="no such file"):
        load_card(tmp_path / "none.yaml")
