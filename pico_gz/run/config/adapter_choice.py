"""Which simulator a vehicle gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from pico_gz.errors import MissingProgramError

ADAPTER_VARIABLE = "PICO_GZ_ADAPTER"


class AdapterChoice(msgspec.Struct, frozen=True):
    """The adapter's name; ``reason`` is one line for people when ``auto`` decided."""

    name: str
    reason: str = ""


def wanted_adapter(
    *, option: str | None, environ: Mapping[str, str], vehicle: str | None, fleet: str
) -> str:
    """The name that was asked for: option > environment > ``[[vehicle]]`` > ``[fleet]``."""
    return option or environ.get(ADAPTER_VARIABLE) or vehicle or fleet


def resolve_adapter(
    wanted: str, environ: Mapping[str, str], gazebo_problem: Callable[[], str | None]
) -> AdapterChoice:
    """Turn what was asked for into an adapter.

    Args:
        wanted: ``auto`` or a name, see ``wanted_adapter``.
        environ: ``CI=true`` turns ``auto``, and nothing else, into Lightweight.
        gazebo_problem: why Gazebo cannot be used, ``None`` when it can; asked only if it matters.

    Raises:
        MissingProgramError: Gazebo was asked for by name and cannot be used.
    """
    if wanted == "auto":
        if environ.get("CI", "").lower() == "true":
            return AdapterChoice("lightweight", "adapter auto: lightweight, because CI=true")
        problem = gazebo_problem()
        if problem:
            return AdapterChoice("lightweight", f"adapter auto: lightweight, because {problem}")
        return AdapterChoice("gazebo", "adapter auto: gazebo, because it is usable here")
    if wanted == "gazebo":
        problem = gazebo_problem()
        if problem:
            raise MissingProgramError(
                f"Gazebo was asked for, but {problem}.",
                hint="pico-gz doctor says how to get it; --adapter lightweight needs nothing.",
            )
    return AdapterChoice(wanted)


NO_TRUTH = (
    "an external autopilot is answered with the vehicle's position and attitude, and the JSON"
    " dialect (ardupilot_compat = false) carries none."
)
NO_TRUTH_HINT = 'Give the vehicle autopilot = "builtin", or use ardupilot_compat = true.'
