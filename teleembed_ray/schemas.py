"""The Arrow schema of every table that crosses a stage.

Text is `large_string`: its 64-bit offsets survive concatenation beyond 2 GiB. Every table is partitioned by the keys in
`PARTITION_KEYS`; partition columns are stored in the rows too, so that a single file can be read by itself.
"""

import pyarrow as pa

TEXT = pa.large_string()
ID = pa.string()

DOCUMENTS = pa.schema(
    [
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("path", pa.string()),
        ("format", pa.string()),
        ("title", pa.string()),
        ("text", TEXT),
        ("num_chars", pa.int64()),
        ("num_dropped_chars", pa.int64()),
        ("num_unmapped_chars", pa.int64()),
    ]
)

CHUNKS = pa.schema(
    [
        ("chunk_id", ID),
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("position", pa.int32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("num_tokens", pa.int32()),
        ("text", TEXT),
    ]
)

# Every question that was tried, with what became of it; pairs are the accepted ones, up to the quota.
CANDIDATES = pa.schema(
    [
        ("question_id", ID),
        ("chunk_id", ID),
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("question", TEXT),
        ("accepted", pa.bool_()),
        ("verdict", pa.string()),
        ("substantive", pa.bool_()),
        ("specific", pa.bool_()),
        ("answerable", pa.bool_()),
        ("top_result", pa.bool_()),
        ("reasoning", TEXT),
        ("generator", pa.string()),
        ("validator", pa.string()),
        ("prompt_version", pa.string()),
        ("num_prompt_tokens", pa.int32()),
        ("num_output_tokens", pa.int32()),
    ]
)

PAIRS = pa.schema(
    [
        ("question_id", ID),
        ("chunk_id", ID),
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("question", TEXT),
        ("clean", pa.bool_()),
        ("substantive", pa.bool_()),
        ("specific", pa.bool_()),
        ("answerable", pa.bool_()),
        ("top_result", pa.bool_()),
        ("reasoning", TEXT),
        ("generator", pa.string()),
        ("validator", pa.string()),
        ("prompt_version", pa.string()),
        ("chunk_text", TEXT),
        ("num_tokens", pa.int32()),
    ]
)


def vectors(num_dims: int) -> pa.Schema:
    """Schema of the vectors table for a model of `num_dims` dimensions.

    Fixed-size lists carry no 32-bit offsets, so that a large batch cannot overflow.
    """
    return pa.schema(
        [
            ("model", pa.string()),
            ("kind", pa.string()),
            ("corpus", pa.string()),
            ("chunk_size", pa.int32()),
            ("id", ID),
            ("truncated", pa.bool_()),
            ("vector", pa.list_(pa.float32(), num_dims)),
        ]
    )


# The rows of a shard in the order of its FAISS index, which lies beside them.
SHARDS = pa.schema(
    [
        ("model", pa.string()),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("shard", pa.int32()),
        ("row", pa.int64()),
        ("chunk_id", ID),
    ]
)

# What one shard returns for one question; `corpus` is the shard's.
HITS = pa.schema(
    [
        ("model", pa.string()),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("shard", pa.string()),
        ("question_id", ID),
        ("chunk_ids", pa.list_(ID)),
        ("scores", pa.list_(pa.float32())),
    ]
)

RANKINGS = pa.schema(
    [
        ("model", pa.string()),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("strategy", pa.string()),
        ("question_id", ID),
        ("gold_chunk_id", ID),
        ("gold_rank", pa.int32()),
        ("chunk_ids", pa.list_(ID)),
        ("scores", pa.list_(pa.float32())),
    ]
)

SCORES = pa.schema(
    [
        ("model", pa.string()),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("strategy", pa.string()),
        ("subset", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("n", pa.int64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("interval", pa.string()),
        ("num_missing", pa.int64()),
    ]
)

# Places of a MinHash signature.
NUM_PERM = 128

# What the audit keeps of a chunk: hashes of its text, counts of its characters, and a signature of its word shingles.
SKETCHES = pa.schema(
    [
        ("chunk_id", ID),
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("num_tokens", pa.int32()),
        ("text_hash", ID),
        ("folded_hash", ID),
        ("excerpt", TEXT),
        ("num_chars", pa.int32()),
        ("num_digits", pa.int32()),
        ("num_symbols", pa.int32()),
        ("num_shingles", pa.int32()),
        ("signature", pa.list_(pa.uint32(), NUM_PERM)),
    ]
)

# Chunks that say what another chunk says; a group is named after its smallest chunk_id. A chunk may stand here twice,
# once a kind: the `near` groups hold the `identical` ones.
TWINS = pa.schema(
    [
        ("chunk_id", ID),
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("kind", pa.string()),
        ("twin_group", ID),
    ]
)

LANGUAGES = pa.schema(
    [
        ("doc_id", ID),
        ("corpus", pa.string()),
        ("num_chars", pa.int64()),
        ("language", pa.string()),
        ("why_undetermined", pa.string()),
        ("confidence", pa.float64()),
    ]
)

_REPEATED = pa.struct([("chunk_id", ID), ("num_chunks", pa.int64()), ("num_documents", pa.int64()), ("excerpt", TEXT)])

# One row a corpus and chunk size. Bins are tenths of the chunk size.
AUDITS = pa.schema(
    [
        ("corpus", pa.string()),
        ("chunk_size", pa.int32()),
        ("window_low", pa.int32()),
        ("window_high", pa.int32()),
        ("num_chunks", pa.int64()),
        ("num_too_small", pa.int64()),
        ("num_too_large", pa.int64()),
        ("num_chunked_documents", pa.int64()),
        ("num_chunkless_documents", pa.int64()),
        ("num_tokens", pa.int64()),
        ("num_discarded_tokens", pa.int64()),
        ("mean_tokens", pa.float64()),
        ("median_tokens", pa.float64()),
        ("p95_tokens", pa.float64()),
        ("num_chars", pa.int64()),
        ("num_digits", pa.int64()),
        ("num_symbols", pa.int64()),
        ("kept_bins", pa.list_(pa.int64())),
        ("discarded_bins", pa.list_(pa.int64())),
        ("same_text_chunks", pa.int64()),
        ("identical_chunks", pa.int64()),
        ("identical_groups", pa.int64()),
        ("identical_own_document", pa.int64()),
        ("identical_other_document", pa.int64()),
        ("near_chunks", pa.int64()),
        ("near_groups", pa.int64()),
        ("near_own_document", pa.int64()),
        ("near_other_document", pa.int64()),
        ("repeated", pa.list_(_REPEATED)),
    ]
)

REJECTS = pa.schema(
    [
        ("id", ID),
        ("stage", pa.string()),
        ("corpus", pa.string()),
        ("reason", pa.string()),
        ("detail", TEXT),
        # Of a chunk only: how long it is.
        ("num_tokens", pa.int32()),
    ]
)

# A kernel marks a bad row in place: `reason` is null for a good row. The writer splits the two, so that each row
# that went in comes out once, in the table or in the rejects.
REASON = pa.field("reason", pa.string())
DETAIL = pa.field("detail", TEXT)


def with_rejects(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with the `reason` and `detail` columns that a kernel marks bad rows with."""
    return schema.append(REASON).append(DETAIL)
