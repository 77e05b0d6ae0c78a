"""Which simulator a vehicle gets, its options and its wires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pico_gz.core.ports import PortRules, is_loopback
from pico_gz.errors import MissingProgramError
from pico_gz.run.config.port_plan import SimWire
from pico_gz.run.config.settings import GazeboSection

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
    wanted: str, environ: Mapping[str, str], gazebo_problem: Callable[[], str]
) -> AdapterChoice:
    """Turn what was asked for into an adapter.

    Args:
        wanted: ``auto`` or a name, see ``wanted_adapter``.
        environ: ``CI=true`` turns ``auto``, and nothing else, into Lightweight.
        gazebo_problem: why Gazebo cannot be used, empty when it can; asked only if it matters.

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
                hint="pico-gz doctor tells how to get it; --adapter lightweight needs nothing.",
            )
    return AdapterChoice(wanted)


NO_TRUTH = (
    "an external autopilot is answered with the vehicle's position and attitude, and the JSON"
    " dialect (ardupilot_compat = false) carries none."
)
NO_TRUTH_HINT = 'Give the vehicle autopilot = "builtin", or use ardupilot_compat = true.'


def sim_wire(
    name: str, gazebo: GazeboSection, rules: PortRules, options: Mapping[str, Any]
) -> SimWire:
    """The wire of the adapter ``name``.

    Args:
        name: of the adapter.
        gazebo: what holds for every Gazebo.
        rules: where ports start; the offset moves the ports of ``options`` as well.
        options: what ``[adapters.NAME]`` says, which wins. A value of a wrong type counts as not
            given: it has been noted elsewhere.
    """
    sensor_port = _given(options, "sensor_port", rules.fdm_base)
    actuator_port = _given(options, "actuator_port", sensor_port + 1)
    server_addr = _given(options, "server_addr", gazebo.server_addr)
    server_host = server_addr.partition(":")[0]
    return SimWire(
        adapter=name,
        sensor_port=sensor_port + rules.offset,
        actuator_port=actuator_port + rules.offset,
        stride=_given(options, "fdm_stride", rules.fdm_stride),
        server_host=server_host,
        bind_host=_given(options, "bind_addr", "")
        or ("127.0.0.1" if is_loopback(server_host) else "0.0.0.0"),
        ardupilot_compat=_given(options, "ardupilot_compat", gazebo.ardupilot_compat),
        # Only the JSON dialect says whose record it is.
        shared=_given(options, "shared_socket", False)
        and not _given(options, "ardupilot_compat", gazebo.ardupilot_compat),
        own_world=options.get("own_world") if isinstance(options.get("own_world"), bool) else None,
    )


def _given(options: Mapping[str, Any], key: str, default: Any) -> Any:
    value = options.get(key)
    return value if type(value) is type(default) else default
