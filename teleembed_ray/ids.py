"""Ids are hashes of content, so that a retry, a rerun or another machine reproduces the same rows."""

import hashlib

# 96 bits: at ten million rows the chance of one collision is below 1e-15.
ID_BYTES = 12


def digest(*parts: str | bytes | int) -> str:
    """parts -> 24 hex digits; each part is framed by its length, so ("ab", "c") and ("a", "bc") differ."""
    hasher = hashlib.blake2b(digest_size=ID_BYTES)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()


def doc_id(corpus: str, path: str, content: bytes) -> str:
    """Id of a document: its corpus, its path below the corpus folder ("/" on every system) and its bytes."""
    return digest("document", corpus, path, content)


def chunk_id(doc_id: str, chunk_size: int, start: int, text: str) -> str:
    """Id of a chunk: its document, the target size, where it starts (characters) and what it says."""
    return digest("chunk", doc_id, chunk_size, start, text)


def question_id(chunk_id: str, question: str) -> str:
    """Id of a question: the chunk that it was written for and its words."""
    return digest("question", chunk_id, question)


def seeded_order(seed: int, chunk_id: str) -> str:
    """Sort key that shuffles chunks in an order which depends on the seed and the ids only."""
    return digest("order", seed, chunk_id)
