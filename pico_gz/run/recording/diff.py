"""The first difference of two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from pico_gz.bridge.published import FleetView
from pico_gz.run.recording.recorded_run import RecordedRun

_exact = msgspec.msgpack.Encoder().encode  # numbers as their IEEE 754 bytes

# What a step consists of, in the order in which a cause shows itself.
_CHANNELS = (("actuators", "commands"), ("truth", "truth"), ("sensors", "sensors"))


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where two runs begin to differ.

    Attributes:
        step: number of the step.
        time_us: its simulation time [us].
        vehicle_id: whose value; 0 when the runs as a whole differ.
        channel: ``actuators``, ``truth``, ``sensors``, or ``steps``.
        field: which value, such as ``velocity_ned_mps[0]``.
        first: the value in the first run.
        second: the value in the second run.
    """

    step: int
    time_us: int
    vehicle_id: int
    channel: str
    field: str
    first: Any
    second: Any

    def __str__(self) -> str:
        where = f"step {self.step} ({self.time_us / 1e6:g} s)"
        whose = f", vehicle {self.vehicle_id}" if self.vehicle_id else ""
        return f"{where}{whose}, {self.channel} {self.field}: {self.first!r} | {self.second!r}"


def diff_runs(first: RecordedRun, second: RecordedRun) -> Difference | None:
    """The first difference of two recordings; ``None`` when they are the same.

    Raises:
        RecordingError: one of them holds no step, so that there is nothing to compare.
    """
    first.require_steps()
    second.require_steps()
    return diff_steps(first.steps(), second.steps())


def diff_steps(first: Iterable[FleetView], second: Iterable[FleetView]) -> Difference | None:
    """The first difference of two sequences of steps; ``None`` when they are the same."""
    for one, other in zip_longest(first, second):
        if one is None or other is None:
            return length_difference(one, other)
        found = diff_step(one, other)
        if found is not None:
            return found
    return None


def diff_step(one: FleetView, other: FleetView) -> Difference | None:
    """The first difference of two steps."""
    for field in ("step", "time_us"):
        a, b = getattr(one, field), getattr(other, field)
        if a != b:
            return _difference(one, 0, "steps", field, a, b)
    for channel, attribute in _CHANNELS:
        a, b = getattr(one, attribute), getattr(other, attribute)
        if _exact(list(a.values())) != _exact(list(b.values())):
            return _in_channel(one, channel, a, b)
    return None


def _in_channel(
    view: FleetView, channel: str, first: Mapping[int, Any], second: Mapping[int, Any]
) -> Difference:
    for vehicle_id in sorted({*first, *second}):
        a, b = first.get(vehicle_id), second.get(vehicle_id)
        if _exact(a) != _exact(b):
            field, x, y = _first_field(msgspec.to_builtins(a), msgspec.to_builtins(b), "")
            return _difference(view, vehicle_id, channel, field, x, y)
    return _difference(view, 0, channel, "order", list(first), list(second))


def _first_field(one: Any, other: Any, path: str) -> tuple[str, Any, Any]:
    """Go down to the first value that differs."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key, value in one.items():
            if _exact(value) != _exact(other[key]):
                return _first_field(value, other[key], f"{path}.{key}" if path else key)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for number, (a, b) in enumerate(zip(one, other, strict=False)):
            if _exact(a) != _exact(b):
                return _first_field(a, b, f"{path}[{number}]")
    return path, one, other


def length_difference(one: FleetView | None, other: FleetView | None) -> Difference:
    """What to say when one of two runs has no more steps: ``None`` in place of its next."""
    left = one or other
    assert left is not None
    states = ("ends before" if view is None else "continues" for view in (one, other))
    return _difference(left, 0, "steps", "length", *states)


def _difference(
    view: FleetView, vehicle_id: int, channel: str, field: str, first: Any, second: Any
) -> Difference:
    return Difference(
        step=view.step,
        time_us=view.time_us,
        vehicle_id=vehicle_id,
        channel=channel,
        field=field,
        first=first,
        second=second,
    )
