"""The configuration of one run: YAML holds values, pydantic holds rules.

A section is named after the stage it steers. An absent optional section is off. `--config FILE` and `--set key=value`
are the only two ways in; secrets come from the environment and never stand in a file. Every value is checked here,
before any work.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from teleembed_ray import globs
from teleembed_ray.errors import ConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# `macro` names the mean over the corpora in the scores table.
RESERVED_CORPORA = frozenset({"macro"})

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
# A path, a URL or a model's name.
Location = Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^[^\x00]+$")]


class Section(BaseModel):
    """A frozen part of the configuration that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DemoConfig(Section):
    """The demo corpus, written before the run where it is absent."""

    folder: Location
    num_documents: int = Field(default=4, ge=1, le=1_000_000)
    seed: int = 7


class CorpusConfig(Section):
    """A folder of documents: a local path or an fsspec URL such as s3://bucket/prefix."""

    path: Location
    separators: Literal["prose", "code"] = "prose"
    # Globs by the rules of .gitignore, with braces.
    include: tuple[str, ...] = ("**/*",)
    exclude: tuple[str, ...] = ()

    @field_validator("include", "exclude")
    @classmethod
    def _globs_are_readable(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if problem := globs.problem(pattern):
                raise ValueError(f"{pattern!r} {problem}")
        return patterns


class IngestConfig(Section):
    """documents -> text; `timeout_s` and `max_memory_gib` bound the reading of one file and never change a text."""

    max_reject_fraction: Fraction = 0.2
    # Tables are left out (TeleEmbedBench, Section III-B), or kept as text.
    tables: Literal["drop", "keep"] = "drop"
    timeout_s: float = Field(default=300.0, gt=0.0, le=86_400.0)
    max_memory_gib: float = Field(default=4.0, ge=0.25, le=1024.0)


class ChunkConfig(Section):
    """text -> chunks; sizes and overlap count cl100k_base tokens (TeleEmbedBench, Section III-B)."""

    sizes: tuple[Annotated[int, Field(ge=16, le=32_768)], ...] = (512, 1024, 2048)
    overlap: int = Field(default=50, ge=0)
    min_fraction: float = Field(default=0.5, ge=0.0, le=1.0)
    max_fraction: float = Field(default=1.5, ge=1.0, le=10.0)

    @model_validator(mode="after")
    def _overlap_is_below_every_size(self) -> "ChunkConfig":
        if not self.sizes:
            raise ValueError("sizes: name at least one chunk size")
        if len(set(self.sizes)) != len(self.sizes):
            raise ValueError("sizes: each chunk size stands once")
        if self.overlap >= min(self.sizes):
            raise ValueError(f"overlap: {self.overlap} must be below the smallest of sizes, {min(self.sizes)}")
        return self


class EndpointConfig(Section):
    """An OpenAI-compatible server: `vllm serve`, Ollama, a hosted model. Secrets come from the environment."""

    url: Location
    # The name of the variable that holds the key, never the key.
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    # These two hold for each actor.
    concurrency: int = Field(default=8, ge=1, le=1024)
    requests_per_minute: float | None = Field(default=None, gt=0.0)
    timeout_s: float = Field(default=120.0, gt=0.0, le=86_400.0)
    max_retries: int = Field(default=5, ge=0, le=100)
    # What the server can hold a model to: a schema, any JSON, or nothing.
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"

    @field_validator("url")
    @classmethod
    def _url_is_plain(cls, url: str) -> str:
        parts = urlsplit(url)
        # Looking at the port checks it.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or re.search(r"\s", url):
            raise ValueError("must be the http or https address that /chat/completions is added to")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("must hold neither a password nor a query: the key comes from the variable api_key_env")
        return url


class LlmConfig(Section):
    """One language model and how it is run; the numerics (dtype, threads, batch_size) are part of the fingerprint."""

    model: Location
    engine: Literal["transformers", "openai"] = "transformers"
    revision: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    max_model_len: int = Field(default=8192, ge=256)
    max_tokens: int = Field(default=64, ge=1)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    threads: int = Field(default=1, ge=1)
    endpoint: EndpointConfig | None = None

    @model_validator(mode="after")
    def _sections_fit_the_engine(self) -> "LlmConfig":
        if (self.endpoint is not None) != (self.engine == "openai"):
            raise ValueError("endpoint: stands exactly where engine is openai, and names its url")
        return self

    def shaping_values(self) -> dict[str, Any]:
        """Return the values that shape replies; where and how fast they are computed is no part of a fingerprint."""
        values = self.model_dump(mode="json", exclude={"endpoint"})
        return values | ({"structured": self.endpoint.structured} if self.endpoint else {})


class ValidatorConfig(LlmConfig):
    """The second model: `json` asks for the four verdicts as an object, `few_shot` reads a base model's log-odds."""

    style: Literal["json", "few_shot"] = "json"
    # A JSON reply with its reasoning; the few-shot style writes nothing.
    max_tokens: int = Field(default=256, ge=1)


class PairsConfig(Section):
    """chunks -> validated question-chunk pairs (TeleEmbedBench, Section III-C)."""

    per_cell: int = Field(default=1000, ge=1)
    batch_size: int = Field(default=16, ge=1, le=1024)
    # Where it is set, both models read this much of a longer chunk: cheaper, for weak machines.
    max_chunk_chars: int | None = Field(default=None, ge=200)
    generator: LlmConfig
    validator: ValidatorConfig

    @model_validator(mode="after")
    def _two_models(self) -> "PairsConfig":
        if self.generator.model == self.validator.model:
            raise ValueError(
                "validator.model: must differ from generator.model, so that no model judges its own questions"
            )
        return self


class EmbedConfig(Section):
    """chunks and questions -> vectors, for every model card named."""

    models: tuple[str, ...]
    batch_tokens: int = Field(default=8192, ge=256)
    threads: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _models_stand_once(self) -> "EmbedConfig":
        if not self.models:
            raise ValueError("models: name at least one model card")
        if len(set(self.models)) != len(self.models):
            raise ValueError("models: each model stands once")
        return self


class IndexConfig(Section):
    """vectors -> FAISS shards (flat inner product)."""

    shard_rows: int = Field(default=100_000, ge=1, le=1_000_000)


class RetrieveConfig(Section):
    """shards and questions -> rankings; A searches the question's own corpus, C all corpora."""

    # recall@10 and nDCG@10 need ten results.
    depth: int = Field(default=100, ge=10, le=1000)
    strategies: tuple[Literal["A", "C"], ...] = ("A", "C")

    @field_validator("strategies")
    @classmethod
    def _a_is_there(cls, strategies: tuple[str, ...]) -> tuple[str, ...]:
        if "A" not in strategies:
            raise ValueError("A must be among the strategies: B is its mean, and C is read against it")
        return tuple(sorted(set(strategies)))


class AuditConfig(Section):
    """documents and chunks -> what the corpora are made of; `near_threshold` is a Jaccard index of word shingles."""

    near_threshold: float = Field(default=0.8, ge=0.5, le=1.0)
    shingle_words: int = Field(default=5, ge=1, le=50)
    # Below this the language of a document is undetermined.
    min_language_confidence: Fraction = 0.8


class EvaluateConfig(Section):
    """rankings -> scores with intervals."""

    confidence: float = Field(default=0.95, gt=0.5, lt=1.0)
    num_resamples: int = Field(default=2000, ge=100, le=100_000)


class ReportConfig(Section):
    """scores -> page and tables."""

    folder: Location
    num_examples: int = Field(default=3, ge=0, le=50)


class ActorConfig(Section):
    """How many actors run a model and what Ray reserves for each."""

    num_actors: int = Field(default=1, ge=1)
    num_cpus: float = Field(default=0.5, gt=0.0)
    num_gpus: float = Field(default=0.0, ge=0.0)


class ResourcesConfig(Section):
    """What the run may use. It never changes a result, so it is no part of a fingerprint."""

    num_cpus: int | None = Field(default=None, ge=1)
    object_store_bytes: int = Field(default=1 << 30, ge=100 << 20)
    embed: ActorConfig = ActorConfig()
    generator: ActorConfig = ActorConfig()
    validator: ActorConfig = ActorConfig()


class RunConfig(Section):
    """One run: what is read, what is computed and where it lands."""

    lake: Location
    seed: int = 7
    demo: DemoConfig | None = None
    corpora: dict[str, CorpusConfig]
    ingest: IngestConfig = IngestConfig()
    chunk: ChunkConfig = ChunkConfig()
    pairs: PairsConfig
    embed: EmbedConfig
    index: IndexConfig = IndexConfig()
    retrieve: RetrieveConfig = RetrieveConfig()
    audit: AuditConfig = AuditConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
    report: ReportConfig
    resources: ResourcesConfig = ResourcesConfig()

    @field_validator("corpora")
    @classmethod
    def _corpora_have_plain_names(cls, corpora: dict[str, CorpusConfig]) -> dict[str, CorpusConfig]:
        if not corpora:
            raise ValueError("name at least one corpus")
        for name in corpora:
            if not NAME.fullmatch(name) or name in RESERVED_CORPORA:
                raise ValueError(f"{name!r} is no corpus name: use letters, digits, '.', '_' and '-', and not 'macro'")
        return corpora


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that takes no key twice (YAML silently keeps the last), no key but text, and no aliases.

    Aliases make a file of nine lines unfold to gigabytes.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases (*name) are not taken: write the value out", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                problem = f"the key {key!r} " + ("stands twice" if isinstance(key, str) else "needs quotes")
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def parse_yaml(text: str, source: str) -> Any:
    """Return the value of a YAML text; raises ConfigError with the line and what is wrong."""
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 (a SafeLoader)
    except RecursionError:
        raise ConfigError(f"{source}: is nested too deeply") from None
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        # The latter four come from PyYAML's own constructors, for a tagged value that is none.
        raise ConfigError(f"{source}: is not valid YAML: {' '.join(str(error).split())}") from None


def as_json(values: Any, source: str) -> str:
    """Return values as JSON, which knows no dates, bytes or sets; raises ConfigError for such a value."""

    def refuse(value: Any) -> Any:
        raise ConfigError(f"{source}: {value!r}: is read by YAML as {type(value).__name__}: put quotes around it")

    return json.dumps(values, default=refuse)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; raises ConfigError with the file, the line and what is wrong."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must hold keys and values, and holds {type(values).__name__}")
    return values


def _set(values: dict[str, Any], assignment: str) -> None:
    """Apply one `--set a.b=value`; the value is YAML, so `[512, 1024]` and `true` mean what they look like."""
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {assignment}: must have the form key=value, for example --set chunk.overlap=25")
    value = parse_yaml(text, f"--set {assignment}")
    *sections, last = key.strip().split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {assignment}: {section} is a value, not a section")
        values = inner
    values[last] = value


def problems(error: ValidationError, source: str) -> str:
    """Return one line that names file, key, value and rule for each thing that is wrong."""
    lines = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"]) or "(whole file)"
        if item["type"] == "extra_forbidden":
            lines.append(f"{source}: {key}: unknown key")
        elif item["type"] == "missing":
            lines.append(f"{source}: {key}: is required and missing")
        else:
            rule = item["msg"].removeprefix("Value error, ")
            shown = "" if isinstance(item["input"], (dict, BaseModel)) else f"{item['input']!r}: "
            # Somebody's password is not for the log.
            shown = re.sub(r"//[^/@\s]*@", "//***@", shown)
            lines.append(f"{source}: {key}: {shown}{rule}")
    return "; ".join(lines)


def load_config(path: str | Path, assignments: Sequence[str] = ()) -> RunConfig:
    """Return the checked configuration of a YAML file with `--set` assignments applied; raises ConfigError."""
    path = Path(path)
    values = read_yaml(path)
    for assignment in assignments:
        _set(values, assignment)
    try:
        # JSON mode: strict about types (true is no number, "512" is no integer), while a list may fill a tuple.
        return RunConfig.model_validate_json(as_json(values, str(path)), strict=True)
    except ValidationError as error:
        raise ConfigError(problems(error, str(path))) from None
