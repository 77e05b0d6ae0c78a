"""What the checks of an adapter have in common: a fleet in it, commands, a time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.messages import ActuatorCommands, Pose, VehicleConfig

AdapterFactory = Callable[[], SimulatorAdapter]

STEP_US = 10_000


def require(condition: bool, text: str) -> None:
    """Find fault with an adapter unless ``condition`` holds."""
    if not condition:
        raise AssertionError(text)


def config(vehicle_id: int) -> VehicleConfig:
    """A vehicle on a place of its own."""
    return VehicleConfig(id=vehicle_id, pose=Pose(east_m=3.0 * (vehicle_id - 1)))


def with_fleet(factory: AdapterFactory, vehicles: int) -> SimulatorAdapter:
    """A connected adapter with vehicles 1..N."""
    adapter = factory()
    # Out of order on purpose: the contract promises id order, not order of arrival.
    for vehicle_id in range(vehicles, 0, -1):
        adapter.add_vehicle(config(vehicle_id))
    adapter.connect()
    return adapter


def drive(adapter: SimulatorAdapter, value: float) -> None:
    """Command all of its vehicles the same on both sides."""
    now_us = adapter.sim_time_us()
    adapter.send_actuators(
        {i: ActuatorCommands(now_us, i, (value, value)) for i in adapter.vehicle_ids()}
    )


def step_all(adapter: SimulatorAdapter, steps: int, value: float) -> None:
    """Command and step so many times."""
    for _ in range(steps):
        drive(adapter, value)
        adapter.step(STEP_US)


def fault_within(limit_s: float, call: Callable[[], object]) -> BaseException | None:
    """What ``call`` raises, whatever it is; ``TimeoutError`` when it has not returned in time.

    A stranger's adapter may hang: it is left behind on its thread.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as exc:  # a SystemExit as well; the caller makes it a finding
            raised.append(exc)

    thread = threading.Thread(target=run, name="pico-gz-adapter-check", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        return TimeoutError(f"has not returned within {limit_s:g} s")
    return raised[0] if raised else None
