"""Handle: objects that are open until they are closed, and context managers."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from evergraph.errors import BusyError, ForkError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Block", "Handle", "state_of"]


class Openable(Protocol):
    """An object that can be open."""

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""


def state_of(thing: Openable) -> str:
    """Describe why an object cannot be used, for ``repr``, without raising; an empty text if it can be used."""
    try:
        return "" if thing.is_open else ", closed"
    except BusyError:
        return ", in use by another thread"
    except ForkError:
        return ", of another process"


class Block:
    """A context manager that needs to know only whether its block succeeded."""

    __slots__ = ()

    @abstractmethod
    def _end(self, well: bool) -> None:
        """End the block; `well` unless an exception ended it."""

    def __enter__(self) -> Self:
        """Begin the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the block."""
        self._end(kind is None)


class Handle(Block):
    """An object that, as a context manager, closes at the end."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    def _end(self, well: bool) -> None:
        self.close()
