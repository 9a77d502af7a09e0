"""Handle: what is open until it is closed, and blocks that end something."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from evergraph.errors import BusyError, ForkError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Block", "Handle", "state_of"]


class Openable(Protocol):
    """What can be open."""

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""


def state_of(thing: Openable) -> str:
    """Say whether something can be used, for ``repr``, which raises nothing; an empty text if it can."""
    try:
        return "" if thing.is_open else ", closed"
    except BusyError:
        return ", in use by another thread"
    except ForkError:
        return ", of another process"


class Block:
    """A context manager that needs to know only whether its block went well."""

    __slots__ = ()

    @abstractmethod
    def _end(self, well: bool) -> None:
        """End it; `well` unless an exception ended the block."""

    def __enter__(self) -> Self:
        """Begin a block at whose end it ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self._end(kind is None)


class Handle(Block):
    """As a context manager it closes at the end."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def _end(self, well: bool) -> None:
        self.close()
