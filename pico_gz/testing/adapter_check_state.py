"""Checks of what an adapter keeps: positions, snapshots, and its lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.errors import SimulatorError
from pico_gz.testing.adapter_check_rig import (
    STEP_US,
    AdapterFactory,
    config,
    drive,
    fault_within,
    require,
    step_all,
    with_fleet,
)

_DRIVEN_STEPS = 200
_MOVED_M = 0.05
_ANSWER_S = 2.0


def check_commands(factory: AdapterFactory, vehicles: int) -> None:
    """Who tells where its vehicles are shows that commands move them."""
    with with_fleet(factory, vehicles) as adapter:
        step_all(adapter, 1, 0.0)
        before = _places(adapter)
        step_all(adapter, _DRIVEN_STEPS, 0.8)
        for vehicle_id, place in _places(adapter).items():
            moved_m = _distance_m(before[vehicle_id], place)
            require(moved_m > _MOVED_M, f"commands do not move vehicle {vehicle_id}")


def check_removal(factory: AdapterFactory, vehicles: int) -> None:
    """A vehicle that is put in again starts where its configuration says, not where it was."""
    with with_fleet(factory, vehicles) as adapter:
        step_all(adapter, 1, 0.0)
        start = _places(adapter).get(1)
        step_all(adapter, _DRIVEN_STEPS, 0.8)
        adapter.remove_vehicle(1)
        adapter.add_vehicle(config(1))
        step_all(adapter, 1, 0.0)
        again = _places(adapter).get(1)
        if start is not None and again is not None:
            apart_m = _distance_m(start, again)
            require(apart_m < _MOVED_M, "a vehicle that is put in again is where it was left")


def check_snapshot(factory: AdapterFactory, vehicles: int, steps: int) -> None:
    """Who can be saved goes on from there, the same way, as often as it is loaded."""
    with with_fleet(factory, vehicles) as adapter:
        step_all(adapter, steps, 0.5)
        adapter.receive_sensors()  # samples that nobody has read are kept for the reader
        try:
            saved = msgspec.msgpack.decode(msgspec.msgpack.encode(adapter.save_state()))
        except SimulatorError:
            return  # it says that it cannot
        saved_us = adapter.sim_time_us()
        first = _go_on(adapter, steps)
        adapter.load_state(saved)
        require(adapter.sim_time_us() == saved_us, "load_state does not go back in time")
        require(_go_on(adapter, steps) == first, "it goes on differently after load_state")


def check_never_blocks(factory: AdapterFactory, vehicles: int) -> None:
    """What the contract says never blocks does not wait for a step that another thread is at."""
    with with_fleet(factory, vehicles) as adapter:
        step_all(adapter, 1, 0.0)
        calls: Mapping[str, Any] = {
            "is_connected": adapter.is_connected,
            "sim_time_us": adapter.sim_time_us,
            "supports_lockstep": adapter.supports_lockstep,
            "capabilities": adapter.capabilities,
            "vehicle_ids": adapter.vehicle_ids,
            "receive_sensors": adapter.receive_sensors,
            "receive_truth": adapter.receive_truth,
            "cancel_connect": adapter.cancel_connect,
        }
        with adapter._lock:  # as a step holds it
            blocking = [n for n, call in calls.items() if _blocks(call)]
        require(not blocking, f"{', '.join(blocking)} waits for the step under way")


def _blocks(call: Any) -> bool:
    fault = fault_within(_ANSWER_S, call)
    if fault is not None and not isinstance(fault, TimeoutError):
        raise fault
    return fault is not None


def _go_on(adapter: SimulatorAdapter, steps: int) -> bytes:
    told: list[object] = []
    for step in range(steps):
        drive(adapter, 0.6 if step % 5 else -0.3)
        adapter.step(STEP_US)
        told.append([list(adapter.receive_sensors().values()), list(_places(adapter).values())])
    return msgspec.msgpack.encode(told)


def _places(adapter: SimulatorAdapter) -> dict[int, tuple[float, float]]:
    """Where its vehicles are, north and east [m]; nothing when it does not tell."""
    return {i: (truth.north_m, truth.east_m) for i, truth in adapter.receive_truth().items()}


def _distance_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    return float(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)
