"""Lets programs derive classes from compiled ones.

mypyc refuses that unless a class says otherwise. Modules that are compiled import the decorator
from here, since ``mypy_extensions`` is not installed with the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    from collections.abc import Callable

    T = TypeVar("T")

    def mypyc_attr(**_: Any) -> Callable[[type[T]], type[T]]:
        """Mean nothing to the interpreter."""
        return lambda decorated: decorated
