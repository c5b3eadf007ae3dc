"""chunks or questions -> vectors."""

from collections.abc import Sequence

import pyarrow as pa

from teleembed_ray import schemas
from teleembed_ray.embedding.encoder import Encoder


def embed_chunks_table(chunks: pa.Table, encoder: Encoder) -> pa.Table:
    """chunks -> vectors of kind "chunk", one row a chunk in input order, by the model's document prompt.

    Raises ValueError with the chunk_id where a vector is not finite.
    """
    texts = [encoder.card.document(text) for text in chunks["text"].to_pylist()]
    return _vectors_table(chunks, "chunk", "chunk_id", texts, encoder)


def embed_questions_table(pairs: pa.Table, encoder: Encoder) -> pa.Table:
    """pairs -> vectors of kind "question", one row a question in input order, by the model's query prompt.

    Raises ValueError with the question_id where a vector is not finite.
    """
    texts = [encoder.card.query(question) for question in pairs["question"].to_pylist()]
    return _vectors_table(pairs, "question", "question_id", texts, encoder)


def _vectors_table(rows: pa.Table, kind: str, id_column: str, texts: Sequence[str], encoder: Encoder) -> pa.Table:
    vectors_ND, truncated_N = encoder.encode(texts, rows[id_column].to_pylist())
    num_dims = encoder.card.num_dims
    # Fixed-size lists carry no int32 offsets, so a large batch cannot overflow.
    vector = pa.FixedSizeListArray.from_arrays(pa.array(vectors_ND.ravel()), num_dims)
    return pa.table(
        {
            "model": pa.array([encoder.card.name] * len(texts), pa.string()),
            "kind": pa.array([kind] * len(texts), pa.string()),
            "corpus": rows["corpus"],
            "chunk_size": rows["chunk_size"],
            "id": rows[id_column],
            "truncated": pa.array(truncated_N),
            "vector": vector,
        },
        schema=schemas.vectors(num_dims),
    )
