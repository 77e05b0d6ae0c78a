"""One set of formulas for floats and for NumPy arrays.

Models are written once against these operations. A lone vehicle or a small fleet runs them
on Python floats, which is far cheaper than NumPy on arrays of one; a large fleet runs them on
arrays. Both give the same bits, because only operations that IEEE 754 rounds one way are used:
``+ - * /``, ``sqrt``, comparisons and selection. ``min``/``max`` of either side are avoided:
they disagree about the sign of zero.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

# A column: a float for one vehicle, an array with one element per vehicle for a fleet.
Column = Any


class Ops(Protocol):
    """The operations a model may use beside ``+ - * /`` and comparisons."""

    def where(self, condition: Any, if_true: Column, if_false: Column) -> Column:
        """Choose element by element."""

    def minimum(self, a: Column, b: Column) -> Column:
        """The smaller; ``b`` when equal."""

    def maximum(self, a: Column, b: Column) -> Column:
        """The larger; ``b`` when equal."""

    def clip(self, value: Column, low: Column, high: Column) -> Column:
        """Limit to low..high."""

    def absolute(self, value: Column) -> Column:
        """Magnitude."""

    def sqrt(self, value: Column) -> Column:
        """Square root."""

    def floor(self, value: Column) -> Column:
        """Round down."""

    def any(self, condition: Any) -> bool:
        """Whether any element is true."""


class _ScalarOps:
    """On Python floats."""

    @staticmethod
    def where(condition: Any, if_true: Column, if_false: Column) -> Column:
        return if_true if condition else if_false

    @staticmethod
    def minimum(a: Column, b: Column) -> Column:
        return a if a < b else b

    @staticmethod
    def maximum(a: Column, b: Column) -> Column:
        return a if a > b else b

    @staticmethod
    def clip(value: Column, low: Column, high: Column) -> Column:
        if value < low:
            return low
        return high if value > high else value

    absolute = staticmethod(abs)
    sqrt = staticmethod(math.sqrt)

    @staticmethod
    def floor(value: Column) -> Column:
        return float(math.floor(value))

    any = bool


class _ArrayOps:
    """On NumPy arrays, element by element."""

    where = staticmethod(np.where)

    @staticmethod
    def minimum(a: Column, b: Column) -> Column:
        return np.where(a < b, a, b)

    @staticmethod
    def maximum(a: Column, b: Column) -> Column:
        return np.where(a > b, a, b)

    @staticmethod
    def clip(value: Column, low: Column, high: Column) -> Column:
        return np.where(value < low, low, np.where(value > high, high, value))

    absolute = staticmethod(np.abs)
    sqrt = staticmethod(np.sqrt)
    floor = staticmethod(np.floor)

    @staticmethod
    def any(condition: Any) -> bool:
        return bool(np.count_nonzero(condition))


SCALAR: Ops = _ScalarOps()
ARRAY: Ops = _ArrayOps()
