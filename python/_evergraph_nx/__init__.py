"""What NetworkX reads about its backend evergraph whenever it is imported, so that it need not import evergraph."""

from __future__ import annotations

from typing import Any

FUNCTIONS: dict[str, str] = {}


def get_info() -> dict[str, Any]:
    """Give the entry point ``networkx.backend_info``."""
    return {}
