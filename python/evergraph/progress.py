"""Progress: how to watch and stop long calls.

Every long call takes ``progress``:

- ``None`` (the default): a bar after half a second, if ``tqdm`` is installed and standard error is a terminal or a
  notebook is running;
- ``True``: a bar at once; ``False``: none;
- a callable: ``progress(phase, fraction, text)``, called about 20 times a second on the calling thread.
  ``fraction`` is from 0 to 1, or ``None`` if the end is unknown. If it returns ``False``, the call stops with
  ``CancelledError``; an exception in it stops the call and is raised.

Ctrl-C also stops the call, with ``KeyboardInterrupt``. A load, an import or an index build that is stopped has
changed nothing. A request that comes after the last point at which the call can stop has no effect on the data:
after ``False`` the call ends as usual; an exception, from Ctrl-C or from the callback, has a note (``__notes__``)
that the changes were written.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from evergraph.errors import InvalidError

__all__ = ["Progress", "ProgressCallback"]

ProgressCallback: TypeAlias = Callable[[str, float | None, str], bool | None]
Progress: TypeAlias = bool | ProgressCallback | None

# Steps of a bar: fractions have no unit of their own.
_STEPS = 1000


def _somebody_watches() -> bool:
    """Whether a bar would be visible."""
    shell = sys.modules.get("IPython")
    if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


class _Bar:
    """One bar a phase, by ``tqdm.auto``: text in terminals, a widget in notebooks."""

    def __init__(self, delay: float) -> None:
        self._make: Callable[..., Any] = importlib.import_module("tqdm.auto").tqdm
        self._delay = delay
        self._phase: str | None = None
        self._bar: Any = None

    def __call__(self, phase: str, fraction: float | None, text: str) -> None:
        if phase != self._phase:
            self.close()
            shown = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}"
            self._bar = self._make(total=_STEPS, desc=phase, delay=self._delay, leave=False, bar_format=shown)
            self._phase = phase
        if fraction is not None:
            self._bar.n = round(fraction * _STEPS)
        if text:
            self._bar.set_postfix_str(text, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextmanager
def shown(progress: Progress) -> Iterator[ProgressCallback | None]:
    """Give the callback for the native module, and remove the bar at the end."""
    if callable(progress):
        yield progress
        return
    if progress is None and _somebody_watches() and importlib.util.find_spec("tqdm") is not None:
        bar = _Bar(delay=0.5)
    elif progress is True:
        if importlib.util.find_spec("tqdm") is None:
            raise InvalidError("progress=True needs tqdm: pip install evergraph[progress]")
        bar = _Bar(delay=0.0)
    else:
        yield None
        return
    try:
        yield bar
    finally:
        bar.close()
