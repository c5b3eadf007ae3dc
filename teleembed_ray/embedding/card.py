"""A model card: how the authors of an embedding model meant it to be used, in one YAML file a model."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from teleembed_ray.config import as_json, problems, read_yaml
from teleembed_ray.errors import ConfigError


class ModelCard(BaseModel):
    """One embedding model. Prompts stand before the text, or hold the place "{text}"; null means none."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    name: str = Field(min_length=1)
    hub_id: str | None = None
    # A folder on this machine; it goes before the hub.
    path: str | None = None
    # Name of weights that an installed package carries, used where it is installed; see demo/models.py.
    embedded: str | None = None
    revision: str | None = None
    num_dims: int = Field(ge=1)
    max_tokens: int = Field(ge=8)
    pooling: Literal["mean", "cls", "lasttoken"]
    normalize: bool = True
    similarity: Literal["cosine", "dot"] = "cosine"
    query_prompt: str | None = None
    document_prompt: str | None = None
    # Task text of instruction-tuned models; it fills "{task}" of the query prompt. Null: queries go bare.
    instruction: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    licence: str = Field(min_length=1)
    num_parameters: int = Field(ge=1)

    @field_validator("revision", mode="before")
    @classmethod
    def _revision_is_text(cls, revision: object) -> object:
        if isinstance(revision, (int, float)):
            raise ValueError("quote it: YAML reads an all-digit hash as a number")
        return revision

    @field_validator("query_prompt", "document_prompt")
    @classmethod
    def _prompt_has_known_places(cls, prompt: str | None) -> str | None:
        if prompt is None:
            return None
        rest = prompt.replace("{text}", "").replace("{task}", "")
        if prompt.count("{text}") > 1 or "{" in rest or "}" in rest:
            raise ValueError("holds at most one {text}, {task}, and no other braces")
        return prompt

    @model_validator(mode="after")
    def _is_whole(self) -> "ModelCard":
        if self.hub_id is None and self.path is None and self.embedded is None:
            raise ValueError("hub_id: name a hub_id, a path or embedded weights")
        if "{task}" in (self.document_prompt or ""):
            raise ValueError("document_prompt: an instruction goes before queries, never before documents")
        if self.instruction is not None and "{task}" not in (self.query_prompt or ""):
            raise ValueError("instruction: query_prompt has no {task} that it could fill")
        if not self.normalize and self.similarity == "cosine":
            raise ValueError("normalize: must be true for similarity cosine, which is searched as an inner product")
        return self

    def query(self, question: str) -> str:
        """question -> the text that the model reads."""
        prompt = self.query_prompt
        if prompt is not None and "{task}" in prompt:
            # Without a task text the model is run bare, which its authors allow and TeleEmbedBench calls "Base".
            prompt = None if self.instruction is None else prompt.replace("{task}", self.instruction)
        return _prompted(prompt, question)

    def document(self, text: str) -> str:
        """chunk -> the text that the model reads."""
        return _prompted(self.document_prompt, text)


def _prompted(prompt: str | None, text: str) -> str:
    if prompt is None:
        return text
    # Not str.format: braces in the text, code for instance, mean themselves.
    return prompt.replace("{text}", text) if "{text}" in prompt else prompt + text


def load_card(path: str | Path) -> ModelCard:
    """Read a model card; raises ConfigError with file, key, value and rule for whatever is wrong."""
    path = Path(path)
    values = read_yaml(path)
    try:
        return ModelCard.model_validate_json(as_json(values, str(path)), strict=True)
    except ValidationError as error:
        raise ConfigError(problems(error, str(path))) from None
