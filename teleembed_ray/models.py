"""Where models come from: a local folder, weights that a Python package carries, or a model hub.

./models/my-encoder, /models/my-encoder    a folder
embedded:SmolLM2-135M-Instruct             weights of an installed package, for the demo and for tests
Qwen/Qwen3-Embedding-0.6B                  a hub id
"""

import json
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

from teleembed_ray.config import LlmConfig, RunConfig, ValidatorConfig
from teleembed_ray.demo.models import EMBEDDED, embedded_available, embedded_model, embedded_revision
from teleembed_ray.embedding.card import ModelCard, load_card
from teleembed_ray.embedding.revision import folder_revision
from teleembed_ray.errors import ConfigError

EMBEDDED_PREFIX = "embedded:"


@dataclass(frozen=True)
class ModelSource:
    """A model as the configuration names it, and the revision that goes into fingerprints and manifests."""

    name: str
    revision: str | None

    def locate(self) -> str:
        """Return the folder to load from, unpacking embedded weights on first use, or the hub id."""
        if self.name.startswith(EMBEDDED_PREFIX):
            return str(embedded_model(self.name.removeprefix(EMBEDDED_PREFIX)))
        return str(Path(self.name).expanduser()) if is_folder(self.name) else self.name


@dataclass(frozen=True)
class EncoderSource:
    """An embedding model: its card, and where its weights come from."""

    card: ModelCard
    source: ModelSource

    @property
    def revision(self) -> str | None:
        """Revision of the weights."""
        return self.source.revision

    def locate(self) -> str:
        """Return the folder to load from, or the hub id."""
        return self.source.locate()


def is_folder(name: str) -> bool:
    """Whether a model name is meant as a path; a hub id is `model` or `owner/model`."""
    return name.startswith(("/", "./", "../", "~/")) or (len(name) < 256 and Path(name).is_dir())


def resolve(key: str, name: str, revision: str | None) -> ModelSource:
    """Return the source of a model or raise ConfigError that names the configuration key and the way out."""
    if name.startswith(EMBEDDED_PREFIX):
        weights = name.removeprefix(EMBEDDED_PREFIX)
        if weights not in EMBEDDED:
            raise ConfigError(f"{key}: {name!r}: there are no such embedded weights; there are {', '.join(EMBEDDED)}")
        if not embedded_available(weights):
            raise ConfigError(f"{key}: {name!r}: the package with these weights is not installed: `make demo` does it")
        return ModelSource(name, embedded_revision(weights))
    if is_folder(name):
        folder = Path(name).expanduser()
        if not (folder / "config.json").is_file():
            raise ConfigError(f"{key}: {name!r}: is no model folder: it has no config.json")
        return ModelSource(str(folder.resolve()), folder_revision(folder))
    if not is_cached(name, revision):
        _ask_hub(key, name, revision)
    return ModelSource(name, revision)


def resolve_llm(key: str, llm: LlmConfig) -> ModelSource:
    """Return the source of a generator or validator; raises ConfigError for weights that write no text."""
    if llm.engine == "openai":
        return _resolve_endpoint(key, llm)
    is_hub_id = not llm.model.startswith(EMBEDDED_PREFIX) and not is_folder(llm.model)
    if llm.revision is not None and not is_hub_id:
        raise ConfigError(
            f"{key}.revision: {llm.revision!r}: belongs to a hub id, and {llm.model!r} is none: leave it out"
        )
    source = resolve(f"{key}.model", llm.model, llm.revision)
    architectures = _architectures(llm.model, llm.revision)
    # Words of transformers' class names: a model with a language head, alone or behind image and audio towers.
    if architectures and not any("CausalLM" in name or "ConditionalGeneration" in name for name in architectures):
        raise ConfigError(f"{key}.model: {llm.model!r}: writes no text, it is a {' and '.join(architectures)}")
    return source


def _resolve_endpoint(key: str, llm: LlmConfig) -> ModelSource:
    """Return the model of an endpoint, unseen: only the engine asks the server, so a plan needs none."""
    if llm.revision is not None:
        raise ConfigError(f"{key}.revision: {llm.revision!r}: an endpoint's model has none: leave it out")
    if isinstance(llm, ValidatorConfig) and llm.style == "few_shot":
        raise ConfigError(f"{key}.style: 'few_shot': an endpoint cannot weigh yes against no: use json")
    return ModelSource(llm.model, None)


def _architectures(name: str, revision: str | None) -> list[str]:
    """Return the architectures that a model's config.json names, as far as this machine has it."""
    if name.startswith(EMBEDDED_PREFIX):
        return [] if EMBEDDED[name.removeprefix(EMBEDDED_PREFIX)].writes_text else ["sentence encoder"]
    if is_folder(name):
        file: str | None = str(Path(name).expanduser() / "config.json")
    else:
        cached = try_to_load_from_cache(name, "config.json", revision=revision)
        file = cached if isinstance(cached, str) else None
    if file is None:
        return []
    try:
        found = json.loads(Path(file).read_text("utf-8")).get("architectures")
    except (OSError, ValueError, AttributeError):
        # What is wrong with the folder is said when it is loaded.
        return []
    return [str(item) for item in found] if isinstance(found, list) else []


def is_cached(hub_id: str, revision: str | None) -> bool:
    """Whether the local hub cache holds a model; a name that is no hub id is not there."""
    try:
        return isinstance(try_to_load_from_cache(hub_id, "config.json", revision=revision), str)
    except HFValidationError:
        return False


def _ask_hub(key: str, name: str, revision: str | None) -> None:
    """Raise ConfigError where a hub does not know a model, before a cluster is started for it."""
    from huggingface_hub import model_info

    try:
        model_info(name, revision=revision, timeout=10)
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{key}: {name!r}: is no folder here, and the model hub refuses it: {reason}") from None
    except Exception as error:
        # Which library's errors come through depends on how the hub's client reaches the network.
        raise ConfigError(
            f"{key}: {name!r}: is no folder here, is not in the local hub cache, and the hub cannot be reached "
            f"({type(error).__name__}): name a local folder, or download it first"
        ) from None


def card_folders(config_path: Path) -> list[Path]:
    """Folders that are searched for model cards: beside the configuration, then those that come with the project."""
    package = Path(__file__).parent
    return [config_path.parent / "models", package / "configs" / "models", package.parent / "configs" / "models"]


def resolve_encoder(name: str, config_path: Path) -> EncoderSource:
    """Return an embedding model by the name of its card."""
    folders = card_folders(config_path)
    path = next((folder / f"{name}.yaml" for folder in folders if (folder / f"{name}.yaml").is_file()), None)
    if path is None:
        known = sorted({card.stem for folder in folders for card in folder.glob("*.yaml")})
        raise ConfigError(f"{config_path}: embed.models: {name!r}: there is no such model card; there are {known}")
    card = load_card(path)
    if card.name != name:
        raise ConfigError(f"{path}: name: {card.name!r}: must be the file's name, {name!r}")
    reference = card.path or card.hub_id
    if card.embedded and not card.path and embedded_available(card.embedded):
        reference = f"{EMBEDDED_PREFIX}{card.embedded}"
    if reference is None:
        raise ConfigError(f"{path}: a card names a path or a hub_id")
    return EncoderSource(card, resolve(f"{path}: hub_id", reference, card.revision))


def resolve_models(config: RunConfig, path: Path) -> tuple[dict[str, EncoderSource], ModelSource, ModelSource]:
    """Return encoders by card name, the generator and the validator; raises ConfigError for an unknown one."""
    pairs = config.pairs
    return (
        {name: resolve_encoder(name, path) for name in config.embed.models},
        resolve_llm(f"{path}: pairs.generator", pairs.generator),
        resolve_llm(f"{path}: pairs.validator", pairs.validator),
    )


def where_is(card_path: Path) -> str:
    """Say where the weights of a model card would come from on this machine."""
    card = load_card(card_path)
    if card.path:
        return f"folder {card.path}" if Path(card.path).expanduser().is_dir() else f"missing: no folder {card.path}"
    if card.embedded and embedded_available(card.embedded):
        return "found: weights of an installed package"
    if card.hub_id and is_cached(card.hub_id, card.revision):
        return "found: in the hub cache"
    return f"not here: would be downloaded from the hub as {card.hub_id}"
