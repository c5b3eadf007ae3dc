"""Every value is checked at load, with file, key, value and rule."""

from pathlib import Path

import pytest

from teleembed_ray.config import RunConfig, load_config
from teleembed_ray.errors import ConfigError

MINIMAL = """
lake: lake
corpora:
  docs: {path: docs}
pairs:
  generator: {model: "embedded:SmolLM2-135M-Instruct"}
  validator: {model: "embedded:gemma-3-270m"}
embed: {models: [minilm]}
report: {folder: report}
"""


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(MINIMAL)
    return path


def test_defaults_are_the_papers(config_file: Path) -> None:
    config = load_config(config_file)
    assert config.chunk.sizes == (512, 1024, 2048)
    assert (config.chunk.overlap, config.chunk.min_fraction, config.chunk.max_fraction) == (50, 0.5, 1.5)
    assert config.pairs.per_cell == 1000


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("chunk.sise=[512]", "chunk.sise: unknown key"),
        ("chunk.overlap=512", "chunk: overlap: 512 must be below the smallest of sizes, 512"),
        ("chunk.overlap=ten", "chunk.overlap: 'ten': Input should be a valid integer"),
        ("chunk.overlap='50'", "chunk.overlap: '50': Input should be a valid integer"),
        ("chunk.overlap=true", "chunk.overlap: True: Input should be a valid integer"),
        ("chunk.sizes=[512, 512]", "chunk: sizes: each chunk size stands once"),
        ("chunk.sizes=512", "chunk.sizes: 512: Input should be a valid array"),
        ("pairs.per_cell=0", "pairs.per_cell: 0: Input should be greater than or equal to 1"),
        ("pairs.validator.model='embedded:SmolLM2-135M-Instruct'", "must differ from generator.model"),
        ("corpora.docs.include=['!*.md']", "corpora.docs.include: ['!*.md']: '!*.md' starts with '!'"),
        ("corpora.docs.exclude=['{1..99999999}']", "is no pattern"),
        ("ingest.tables=some", "ingest.tables: 'some': Input should be 'drop' or 'keep'"),
        ("ingest.timeout_s=0", "ingest.timeout_s: 0: Input should be greater than 0"),
        ("ingest.max_memory_gib=.nan", "ingest.max_memory_gib"),
        ("retrieve.strategies=[C]", "A must be among the strategies"),
        ("corpora={}", "corpora: name at least one corpus"),
        ("corpora.macro={path: x}", "'macro' is no corpus name"),
        ("corpora.a/b={path: x}", "'a/b' is no corpus name"),
        ("embed.models=[]", "name at least one model card"),
        ("evaluate.confidence=.nan", "evaluate.confidence"),
        ("lake.path=x", "lake is a value, not a section"),
    ],
)
def test_a_wrong_value_is_named_with_file_key_and_rule(config_file: Path, assignment: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(config_file, [assignment])
    message = str(caught.value)
    assert expected in message
    assert "\n" not in message
    if not assignment.startswith("lake"):
        assert message.startswith(str(config_file))


@pytest.mark.parametrize(
    ("generator", "expected"),
    [
        ("{model: m, engine: openai}", "stands exactly where engine is openai"),
        ("{model: m, endpoint: {url: 'http://h/v1'}}", "stands exactly where engine is openai"),
        ("{model: m, engine: openai, endpoint: {url: 'ftp://h/v1'}}", "http or https address"),
        ("{model: m, engine: openai, endpoint: {url: 'http://'}}", "http or https address"),
        ("{model: m, engine: openai, endpoint: {url: 'http://h/a b'}}", "http or https address"),
        ("{model: m, engine: openai, endpoint: {url: 'http://h:99999/v1'}}", "Port out of range"),
        ("{model: m, engine: openai, endpoint: {url: 'http://[::1/v1'}}", "Invalid IPv6"),
        ("{model: m, engine: openai, endpoint: {url: 'http://u:hidden@h/v1'}}", "neither a password nor a query"),
        ("{model: m, engine: openai, endpoint: {url: 'http://h/v1?key=1'}}", "neither a password nor a query"),
    ],
)
def test_an_endpoint_that_cannot_be_meant_is_refused_and_shows_no_password(
    config_file: Path, generator: str, expected: str
) -> None:
    with pytest.raises(ConfigError, match=r"pairs\.generator") as caught:
        load_config(config_file, [f"pairs.generator={generator}"])
    assert expected in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434/v1", "https://api.example.org/v1/", "http://[::1]:8000"])
def test_addresses_as_servers_have_them_are_taken(config_file: Path, url: str) -> None:
    generator = f"{{model: m, engine: openai, endpoint: {{url: '{url}'}}}}"
    endpoint = load_config(config_file, [f"pairs.generator={generator}"]).pairs.generator.endpoint
    assert endpoint is not None
    assert endpoint.url == url


def test_all_wrong_values_are_named_at_once(config_file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(config_file, ["chunk.overlap=-1", "pairs.per_cell=-1"])
    assert "chunk.overlap" in str(caught.value)
    assert "pairs.per_cell" in str(caught.value)


def test_a_missing_section_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("lake: x\n")
    with pytest.raises(ConfigError, match="corpora: is required and missing"):
        load_config(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1", "is not valid YAML"),
        ("- 1\n- 2\n", "must hold keys and values, and holds list"),
        ("", "must hold keys and values, and holds NoneType"),
        ("lake: a\nlake: b\n", "the key 'lake' stands twice"),
        ("lake: !!python/object/apply:os.system ['true']\n", "is not valid YAML"),
        ("lake: 2026-13-45\n", "is not valid YAML"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=expected):
        load_config(path)


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_config(tmp_path / "none.yaml")
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(path)


def test_set_takes_yaml_values_and_makes_sections(config_file: Path) -> None:
    config = load_config(config_file, ["chunk.sizes=[64, 128]", "demo.folder=d", "demo.seed=3", "chunk.overlap=8"])
    assert config.chunk.sizes == (64, 128)
    assert config.demo is not None
    assert config.demo.seed == 3


@pytest.mark.parametrize("assignment", ["chunk.overlap", "=3", "chunk.sizes=[1"])
def test_a_malformed_assignment_says_what_it_should_look_like(config_file: Path, assignment: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        load_config(config_file, [assignment])


def test_the_configuration_cannot_be_changed_after_the_check(config_file: Path) -> None:
    config = load_config(config_file)
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 8  # type: ignore[misc]


def test_every_config_that_comes_with_the_project_is_valid() -> None:
    for path in sorted((Path(__file__).parents[1] / "configs").glob("*.yaml")):
        if path.stem != "rayjob":
            assert isinstance(load_config(path), RunConfig)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &a [1]\nb: *a\n", "aliases"),
        ("z: &z [*z]\n", "aliases"),
        ("2020-01-01: 2\n", "needs quotes"),
        ("corpora: {1: {path: a}}\n", "the key 1 needs quotes"),
        ("lake: !!bool zz\n", "is not valid YAML"),
        ("lake: 2020-01-01\n", "is read by YAML as date: put quotes around it"),
        ("lake: " + "[" * 3000, "nested too deeply"),
        ("lake: ''\n", "lake"),
        ('lake: "a\\0b"\n', "lake"),
    ],
)
def test_yaml_that_python_would_stumble_over_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=expected) as caught:
        load_config(path)
    assert "\n" not in str(caught.value)
