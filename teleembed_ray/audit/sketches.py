"""chunks -> sketches: what the audit keeps of a chunk, small enough to hold for a whole corpus at once."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from datasketch import MinHash

from teleembed_ray import ids, schemas
from teleembed_ray.audit.shingles import Shingles, folded, shingles

NUM_PERM = schemas.NUM_PERM
SEED = 1
# The scheme is named, so that a later default of the library changes no signature.
_EMPTY = MinHash(num_perm=NUM_PERM, seed=SEED, hashfunc=int, scheme="affine32")

_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_DIGIT = re.compile(r"\d")
EXCERPT_CHARS = 200


def signature(found: Shingles) -> npt.NDArray[np.uint32]:
    """shingles -> MinHash signature: two of them agree in about the share of places that the sets' Jaccard index is."""
    sketch = _EMPTY.copy()
    # The library takes 32-bit hashes; the upper half of ours mixes all words of the shingle.
    sketch.update_batch((found >> np.uint64(32)).tolist())
    signature_P: npt.NDArray[np.uint32] = sketch.hashvalues
    return signature_P


def _facts(text: str, num_words: int) -> tuple[dict[str, Any], npt.NDArray[np.uint32]]:
    plain = folded(text)
    found = shingles(text, num_words)
    letters_and_digits = _NO_LETTER_OR_DIGIT.sub("", text)
    facts = {
        "text_hash": ids.digest("text", text),
        "folded_hash": ids.digest("folded", plain),
        "excerpt": plain[:EXCERPT_CHARS],
        "num_chars": len(text),
        "num_digits": len(_DIGIT.findall(text)),
        "num_symbols": len("".join(text.split())) - len(letters_and_digits),
        "num_shingles": len(found),
    }
    return facts, signature(found)


def sketches_table(chunks: pa.Table, num_words: int) -> pa.Table:
    """chunks -> sketches, one row a chunk, in input order.

    `chunks` has chunk_id, doc_id, corpus, chunk_size, num_tokens and text. `num_symbols` counts what is neither letter,
    digit nor white space; `folded_hash` is the same for texts that differ in white space only.
    """
    kept = chunks.select(["chunk_id", "doc_id", "corpus", "chunk_size", "num_tokens"]).to_pylist()
    signatures_CP = np.empty((chunks.num_rows, NUM_PERM), np.uint32)
    for index, row in enumerate(kept):
        facts, signatures_CP[index] = _facts(chunks["text"][index].as_py() or "", num_words)
        row.update(facts)
    schema = schemas.SKETCHES
    columns = {name: pa.array([row[name] for row in kept], schema.field(name).type) for name in schema.names[:-1]}
    columns["signature"] = pa.FixedSizeListArray.from_arrays(pa.array(signatures_CP.ravel()), NUM_PERM)
    return pa.table(columns, schema=schema)
