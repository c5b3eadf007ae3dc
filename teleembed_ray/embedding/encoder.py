"""An embedding model as its card describes it.

Shape suffixes: N texts, B texts of a batch, D dims.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer

from teleembed_ray.embedding.card import ModelCard
from teleembed_ray.errors import ConfigError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Encoder:
    """A Sentence Transformers model with its card; made by `load_encoder`."""

    card: ModelCard
    model: Any
    batch_tokens: int

    def encode(
        self, texts: Sequence[str], text_ids: Sequence[str]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """texts, prompts applied -> (vectors_ND, truncated_N), in input order; each distinct text is computed once.

        `truncated` marks texts that go beyond the card's max_tokens and were cut there. Batches hold texts of like
        length, up to `batch_tokens` with padding, and are a function of the texts. Padding changes the order in which
        floats are summed: cosines between a text's vectors from two different batches stay above 1 - 1e-6 in float32.
        Raises ValueError that names the id of a text whose vector is not finite.
        """
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return np.zeros((0, self.card.num_dims), np.float32), np.zeros(0, np.bool_)
        lengths = self.count_tokens(distinct)
        capped = [min(length, self.card.max_tokens) for length in lengths]
        vectors_UD = np.empty((len(distinct), self.card.num_dims), np.float32)
        for batch in cut_batches(distinct, capped, self.batch_tokens):
            vectors_UD[batch] = self._encode_batch([distinct[index] for index in batch])
        row_of = {text: row for row, text in enumerate(distinct)}
        rows_N = [row_of[text] for text in texts]
        vectors_ND = vectors_UD[rows_N]
        is_finite_N = np.isfinite(vectors_ND).all(axis=1)
        if not is_finite_N.all():
            raise ValueError(f"{self.card.name}: the vector of {text_ids[int(np.argmin(is_finite_N))]} is not finite")
        truncated_N = np.array([lengths[row] > self.card.max_tokens for row in rows_N], np.bool_)
        return vectors_ND, truncated_N

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """texts -> number of tokens that the model would read without its limit, special tokens included."""
        encoded = self.model.tokenizer(list(texts), add_special_tokens=True, truncation=False, verbose=False)
        return [len(tokens) for tokens in encoded["input_ids"]]

    def _encode_batch(self, texts: list[str]) -> npt.NDArray[np.float32]:
        # The card's prompts are in the texts already; prompt="" keeps the model's own default prompt out.
        vectors_BD = self.model.encode(
            texts,
            prompt="",
            batch_size=len(texts),
            convert_to_tensor=True,
            normalize_embeddings=False,
            show_progress_bar=False,
        ).float()
        if self.card.normalize:
            vectors_BD = torch.nn.functional.normalize(vectors_BD, dim=1)
        found: npt.NDArray[np.float32] = vectors_BD.cpu().numpy()
        return found


def cut_batches(texts: Sequence[str], lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """(texts, lengths) -> batches of places, long texts first, each within `batch_tokens` padded or of one text.

    The order of the texts does not matter: equal lengths are ordered by text.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(texts)), key=lambda place: (-lengths[place], texts[place])):
        # The first text of a batch is its longest, so it sets the padded length.
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= batch_tokens:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def load_encoder(card: ModelCard, location: str, *, batch_tokens: int = 8192, threads: int = 2) -> Encoder:
    """Load the model of a card from a folder or hub id, on a GPU where there is one, and check it against the card.

    Only safetensors are read and no code from the model is run. `threads` holds for the whole process. Raises
    ConfigError for a model that cannot be loaded or whose files contradict the card.
    """
    torch.set_num_threads(threads)
    is_local = Path(location).is_dir()
    try:
        model = SentenceTransformer(
            location,
            revision=None if is_local else card.revision,
            local_files_only=is_local,
            trust_remote_code=False,
            device="cuda" if torch.cuda.is_available() else "cpu",
            model_kwargs={"use_safetensors": True, "dtype": DTYPES[card.dtype]},
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"model {location}: cannot be loaded: {' '.join(str(error).split())}") from error
    _check(card, model)
    model.max_seq_length = card.max_tokens
    return Encoder(card, model.eval(), batch_tokens)


def _check(card: ModelCard, model: Any) -> None:
    """Raise ConfigError where the model's files say otherwise than the card."""
    found_dims = model.get_embedding_dimension()
    if found_dims != card.num_dims:
        raise ConfigError(f"{card.name}: num_dims: {card.num_dims}: the model gives {found_dims}")
    poolings = [module.get_config_dict() for module in model if type(module).__name__ == "Pooling"]
    found_pooling = {str(config.get("pooling_mode")) for config in poolings}
    if found_pooling != {card.pooling}:
        raise ConfigError(f"{card.name}: pooling: {card.pooling}: the model's files say {', '.join(found_pooling)}")
    # XLM-R and MPNet have two positions more than they can use, which their tokenizers know.
    limits = [getattr(model[0].auto_model.config, "max_position_embeddings", None), model.tokenizer.model_max_length]
    limit = min(limit for limit in limits if limit is not None)
    if card.max_tokens > limit:
        raise ConfigError(f"{card.name}: max_tokens: {card.max_tokens}: the model reads at most {limit}")
