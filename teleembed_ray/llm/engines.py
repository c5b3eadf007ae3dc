"""Engines by the name that the configuration uses."""

from collections.abc import Callable

from teleembed_ray.errors import ConfigError
from teleembed_ray.llm.openai_engine import load_openai_engine
from teleembed_ray.llm.protocol import Engine, EngineSettings
from teleembed_ray.llm.transformers_engine import load_transformers_engine

Loader = Callable[[str, str, EngineSettings], Engine]


def _load_transformers(location: str, name: str, settings: EngineSettings) -> Engine:
    return load_transformers_engine(
        location,
        name=name,
        revision=settings.revision,
        dtype=settings.dtype,
        threads=settings.threads,
        max_model_len=settings.max_model_len,
    )


def _load_openai(location: str, name: str, settings: EngineSettings) -> Engine:
    if settings.endpoint is None:
        raise ConfigError(f"{name}: engine openai needs a section endpoint with its url")
    return load_openai_engine(name, settings.endpoint)


ENGINES: dict[str, Loader] = {"openai": _load_openai, "transformers": _load_transformers}


def load_engine(engine: str, location: str, name: str, settings: EngineSettings) -> Engine:
    """Load the model at `location` (folder or hub id), which is called `name` in tables, into an engine.

    Raises ConfigError for an unknown engine and for a model that cannot be loaded.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine: {engine!r}: there is no such engine; there are {', '.join(ENGINES)}")
    return ENGINES[engine](location, name, settings)
