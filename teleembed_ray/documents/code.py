"""Source code, YAML and plain text -> the decoded text, unchanged but for its line ends."""

from pathlib import PurePosixPath

from teleembed_ray.documents.decoding import decode
from teleembed_ray.documents.document import Document


def read_code(path: str, data: bytes) -> Document:
    """C, C++ or CUDA bytes -> Document, titled by its path, which is how a code base names it; raises Unreadable."""
    return Document(path, decode(data), "cpp", 0)


def read_yaml(path: str, data: bytes) -> Document:
    """YAML bytes -> Document; raises Unreadable."""
    return Document(path, decode(data), "yaml", 0)


def read_plain_text(path: str, data: bytes) -> Document:
    """Plain text bytes -> Document; raises Unreadable."""
    return Document(PurePosixPath(path).stem, decode(data), "text", 0)
