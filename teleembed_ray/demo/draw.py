"""Reproducible choices: the same on every machine and Python, which the standard library does not promise."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A stream of choices that the name alone decides."""

    def __init__(self, *name: str | int) -> None:
        self._name = "/".join(map(str, name)).encode()
        self._count = 0

    def below(self, limit: int) -> int:
        """Return an integer from 0 to limit - 1."""
        self._count += 1
        digest = hashlib.blake2b(self._name, digest_size=8, salt=self._count.to_bytes(8, "little")).digest()
        return int.from_bytes(digest, "little") % limit

    def between(self, low: int, high: int, step: int = 1) -> int:
        """Return low, low + step, ... or high."""
        return low + step * self.below((high - low) // step + 1)

    def one(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items (all where there are fewer), in drawn order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def some_in_order(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items in the order in which they were given."""
        return [items[index] for index in sorted(self.some(range(len(items)), count))]
