"""Saves a whole run and continues from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from pico_gz.bridge.fleet import VehicleList
from pico_gz.bridge.fleet_stepper import FleetStepper
from pico_gz.bridge.timeline import Timeline
from pico_gz.core.messages import SensorData
from pico_gz.errors import ConfigError, PicoGzError

FORMAT = "pico_gz snapshot 2"
_ADAPTERS_FORMAT = "pico_gz adapter states 1"


class Restored(NamedTuple):
    """The moment that a snapshot is of: time [us], last records, and whether all is in it."""

    time_us: int
    records: dict[int, SensorData]
    is_whole: bool


def save(stepper: FleetStepper, fleet: VehicleList, timeline: Timeline) -> bytes:
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


def of_adapters(time_us: int, states: Mapping[str, Mapping[str, Any]]) -> bytes:
    """A snapshot of some adapters alone, at the fleet's time ``time_us``: adapter name -> state.

    For adapters that show recorded time.
    """
    return msgspec.msgpack.encode(
        {"format": _ADAPTERS_FORMAT, "time_us": time_us, "adapters": states}
    )


def load(data: bytes, stepper: FleetStepper, fleet: VehicleList, timeline: Timeline) -> Restored:
    """Put everything back.

    What acts before a step must be the same as in the snapshot; observers may be others.

    Raises:
        ConfigError: it is no snapshot, one of another fleet, or damaged.
    """
    try:
        saved = msgspec.msgpack.decode(data)
    except msgspec.DecodeError as exc:
        raise ConfigError(f"This is no snapshot: {exc}") from exc
    known = isinstance(saved, dict) and saved.get("format") in (FORMAT, _ADAPTERS_FORMAT)
    if not known:
        raise ConfigError("This is no snapshot of this version.", hint=f"Expected {FORMAT!r}.")
    try:
        if saved["format"] == _ADAPTERS_FORMAT:
            return _put_back_adapters(saved, stepper)
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


def _put_back_adapters(saved: Mapping[str, Any], stepper: FleetStepper) -> Restored:
    time_us: int = saved["time_us"]
    for name, state in saved["adapters"].items():
        works = {"offset_us": 0, "failures": 0, "failed": False}
        stepper.adapters[name].load_state({**works, "state": state}, time_us)
    return Restored(time_us, dict(stepper.records), is_whole=False)


def _put_back(saved: Mapping[str, Any], stepper: FleetStepper, fleet: VehicleList) -> Restored:
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
    return Restored(saved["time_us"], {r.vehicle_id: r for r in records}, is_whole=True)


def _require_same(what: str, saved: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    if set(saved) != set(present):
        raise ConfigError(
            f"The snapshot has the {what} {', '.join(sorted(saved)) or 'none'}; "
            f"here are {', '.join(sorted(present)) or 'none'}."
        )
