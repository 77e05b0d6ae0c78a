"""Saves a whole run and continues from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pico_gz.bridge.fleet import Fleet, VehicleInstance
from pico_gz.bridge.fleet_stepper import FleetStepper
from pico_gz.core.messages import ActuatorCommands, SensorData
from pico_gz.errors import ConfigError, PicoGzError

FORMAT = "pico_gz snapshot 1"
_ADAPTERS_FORMAT = "pico_gz adapter states 1"


def save(stepper: FleetStepper, fleet: Fleet) -> bytes:
    """Everything that changes during a run, as MessagePack."""
    return msgspec.msgpack.encode(
        {
            "format": FORMAT,
            "time_us": stepper.time_us,
            "stats": stepper.stats.save_state(),
            "adapters": {
                name: {"offset_us": slot.offset_us, "state": slot.adapter.save_state()}
                for name, slot in stepper.adapters.items()
            },
            "vehicles": {str(vehicle.id): _save_vehicle(vehicle) for vehicle in fleet},
            "records": list(stepper.records.values()),
            "hooks": {n: hook.save_state() for n, hook in stepper.before_step.stateful().items()},
        }
    )


def of_adapters(time_us: int, states: Mapping[str, Mapping[str, Any]]) -> bytes:
    """A snapshot of some adapters alone, at the fleet's time ``time_us``: adapter name -> state.

    For adapters that show recorded time.
    """
    return msgspec.msgpack.encode(
        {"format": _ADAPTERS_FORMAT, "time_us": time_us, "adapters": states}
    )


def load(data: bytes, stepper: FleetStepper, fleet: Fleet) -> tuple[int, dict[int, SensorData]]:
    """Put everything back; returns the fleet's time [us] and its last records.

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
        return _put_back(saved, stepper, fleet)
    except PicoGzError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        raise ConfigError(
            f"The snapshot is damaged ({type(exc).__name__}: {exc}).",
            hint="This run is between two states now: start it again.",
        ) from exc


def _put_back_adapters(
    saved: Mapping[str, Any], stepper: FleetStepper
) -> tuple[int, dict[int, SensorData]]:
    time_us: int = saved["time_us"]
    for name, state in saved["adapters"].items():
        stepper.adapters[name].load_state({"offset_us": 0, "state": state}, time_us)
    return time_us, dict(stepper.records)


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
        _load_vehicle(vehicle, saved["vehicles"][str(vehicle.id)])
    for name, hook in hooks.items():
        hook.load_state(saved["hooks"][name])
    stepper.stats.load_state(saved["stats"])
    records = msgspec.convert(saved["records"], list[SensorData])
    return saved["time_us"], {record.vehicle_id: record for record in records}


def _save_vehicle(vehicle: VehicleInstance) -> dict[str, Any]:
    return {
        "adapter": vehicle.adapter,
        "platform": vehicle.platform.save_state() if vehicle.platform else None,
        "autopilot": vehicle.autopilot.save_state() if vehicle.autopilot else None,
        "next_tick_us": vehicle.next_tick_us,
        "failed": vehicle.failed,
        "failures": vehicle.failures,
        "last_command": vehicle.last_command,
    }


def _load_vehicle(vehicle: VehicleInstance, saved: Mapping[str, Any]) -> None:
    if vehicle.adapter != saved["adapter"]:
        raise ConfigError(
            f"Vehicle {vehicle.id} was on adapter {saved['adapter']!r}, not {vehicle.adapter!r}."
        )
    if vehicle.platform is not None and saved["platform"] is not None:
        vehicle.platform.load_state(saved["platform"])
    if vehicle.autopilot is not None and saved["autopilot"] is not None:
        vehicle.autopilot.load_state(saved["autopilot"])
    vehicle.next_tick_us = saved["next_tick_us"]
    vehicle.failed = saved["failed"]
    vehicle.failures = saved["failures"]
    last = saved["last_command"]
    vehicle.last_command = None if last is None else msgspec.convert(last, ActuatorCommands)


def _require_same(what: str, saved: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    if set(saved) != set(present):
        raise ConfigError(
            f"The snapshot has the {what} {', '.join(sorted(saved)) or 'none'}; "
            f"here are {', '.join(sorted(present)) or 'none'}."
        )
