"""Kinds of values that several tables of the fleet file share."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge, Gt, Interval

from pico_gz.ports import MAX_PORT

# Read by pydantic; a plain dictionary, so that this module does not import it.
CHECKING: dict[str, Any] = {
    "extra": "forbid",
    "allow_inf_nan": False,
    "use_attribute_docstrings": True,
}

Port = Annotated[int, Interval(ge=1, le=MAX_PORT)]
PortOrOff = Annotated[int, Interval(ge=0, le=MAX_PORT)]
Id = Annotated[int, Interval(ge=1, le=255)]
Seed = Annotated[int, Interval(ge=0, le=2**63 - 1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Distance = Annotated[float, Interval(ge=-1_000_000, le=1_000_000)]
Milliseconds = Annotated[int, Interval(ge=1, le=3_600_000)]
Degrees = Annotated[float, Interval(ge=-360, le=360)]
