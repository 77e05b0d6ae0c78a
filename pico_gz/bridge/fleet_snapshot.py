"""Saves a whole run and continues from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pico_gz.bridge.fleet import Fleet
from pico_gz.bridge.fleet_stepper import FleetStepper
from pico_gz.bridge.timeline import Timeline
from pico_gz.core.messages import SensorData
from pico_gz.errors import ConfigError, PicoGzError

FORMAT = "pico_gz snapshot 2"


def save(stepper: FleetStepper, fleet: Fleet, timeline: Timeline) -> bytes:
    """Everything that changes during a run, as MessagePack."""
    return msgspec.msgpack.encode(
        {
            "format": FORMAT,
            "time_us": stepper.time_us,
            "stats": stepper.stats.save_state(),
            "adapters": {name: slot.save_state() for name, slot in stepper.adapters.items()},
            "vehicles": {str(vehicle.id): vehicle.save_state() for vehicle in fleet},
            "records": list(stepper.records.values()),
            "hooks": {n: hook.save_state() for n, hook in stepper.before_step.stateful().items()},
            "observers": {n: o.save_state() for n, o in stepper.after_step.stateful().items()},
            "parts": timeline.save(),
        }
    )


def load(
    data: bytes, stepper: FleetStepper, fleet: Fleet, timeline: Timeline
) -> tuple[int, dict[int, SensorData]]:
    """Put everything back; returns the fleet's time [us] and its last records.

    What acts before a step must be the same as in the snapshot; observers may be others.

    Raises:
        ConfigError: it is no snapshot, one of another fleet, or damaged.
    """
    try:
        saved = msgspec.msgpack.decode(data)
    except msgspec.DecodeError as exc:
        raise ConfigError(f"This is no snapshot: {exc}") from exc
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise ConfigError("This is no snapshot of this version.", hint=f"Expected {FORMAT!r}.")
    try:
        found = _put_back(saved, stepper, fleet)
        timeline.load(saved["parts"])
        return found
    except PicoGzError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        raise ConfigError(
            f"The snapshot is damaged ({type(exc).__name__}: {exc}).",
            hint="This run is between two states now: start it again.",
        ) from exc


def load_adapters(
    stepper: FleetStepper, time_us: int, states: Mapping[str, Mapping[str, Any]]
) -> None:
    """Give adapters other states, which stand at the fleet's time ``time_us``."""
    for name, state in states.items():
        slot = stepper.adapters[name]
        slot.load_state({**slot.save_state(), "offset_us": 0, "state": state}, time_us)


def _put_back(
    saved: Mapping[str, Any], stepper: FleetStepper, fleet: Fleet
) -> tuple[int, dict[int, SensorData]]:
    _require_same("adapters", saved["adapters"], stepper.adapters)
    _require_same("vehicles", saved["vehicles"], {str(i): None for i in fleet.ids()})
    hooks = stepper.before_step.stateful()
    _require_same("hooks", saved["hooks"], hooks)
    for name, slot in stepper.adapters.items():
        slot.load_state(saved["adapters"][name], saved["time_us"])
    for vehicle in fleet:
        vehicle.load_state(saved["vehicles"][str(vehicle.id)])
    for name, hook in hooks.items():
        hook.load_state(saved["hooks"][name])
    for name, observer in stepper.after_step.stateful().items():
        if name in saved["observers"]:
            observer.load_state(saved["observers"][name])
    stepper.stats.load_state(saved["stats"])
    records = msgspec.convert(saved["records"], list[SensorData])
    return saved["time_us"], {record.vehicle_id: record for record in records}


def _require_same(what: str, saved: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    if set(saved) != set(present):
        raise ConfigError(
            f"The snapshot has the {what} {', '.join(sorted(saved)) or 'none'}; "
            f"here are {', '.join(sorted(present)) or 'none'}."
        )
