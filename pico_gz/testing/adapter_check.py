"""Proves that an adapter keeps the contract.

from pico_gz.testing import check_adapter
    check_adapter(MyAdapter)

raises ``AdapterCheckError`` with everything that is wrong, or returns what was checked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.core.messages import ActuatorCommands, SimulatorCapabilities
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.errors import (
    DuplicateVehicleError,
    PicoGzError,
    SimulatorConnectionError,
    SimulatorError,
    UnknownVehicleError,
)

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


_DRIVEN_STEPS = 200
_MOVED_M = 0.05
_ANSWER_S = 2.0


def check_commands(factory: AdapterFactory, vehicles: int) -> None:
    """Commands move the vehicles of an adapter that reports truth."""
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
    """An adapter that can be saved continues the same way each time it is loaded."""
    with with_fleet(factory, vehicles) as adapter:
        step_all(adapter, steps, 0.5)
        adapter.receive_sensors()  # unread samples are kept for the reader
        try:
            saved = msgspec.msgpack.decode(msgspec.msgpack.encode(adapter.save_state()))
        except SimulatorError:
            return  # it says that it cannot
        saved_us = adapter.sim_time_us()
        first = _continue(adapter, steps)
        adapter.load_state(saved)
        require(adapter.sim_time_us() == saved_us, "load_state does not go back in time")
        require(_continue(adapter, steps) == first, "it continues differently after load_state")


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


def _continue(adapter: SimulatorAdapter, steps: int) -> bytes:
    records: list[object] = []
    for step in range(steps):
        drive(adapter, 0.6 if step % 5 else -0.3)
        adapter.step(STEP_US)
        records.append([list(adapter.receive_sensors().values()), list(_places(adapter).values())])
    return msgspec.msgpack.encode(records)


def _places(adapter: SimulatorAdapter) -> dict[int, tuple[float, float]]:
    """Where its vehicles are, north and east [m]; empty without truth."""
    return {i: (truth.north_m, truth.east_m) for i, truth in adapter.receive_truth().items()}


def _distance_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    return float(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)


_THREADS = 8


class AdapterCheckError(PicoGzError, AssertionError):
    """An adapter breaks the contract; ``findings`` lists every broken rule."""

    def __init__(self, findings: list[str]) -> None:
        super().__init__("The adapter breaks its contract:\n- " + "\n- ".join(findings))
        self.findings = findings


def check_adapter(
    adapter_factory: AdapterFactory,
    *,
    vehicles: int = 3,
    steps: int = 20,
    deterministic: bool = True,
    limit_s: float = 60.0,
) -> list[str]:
    """Check life cycle, order, time, bad calls, commands, snapshots, repeatability and threads.

    Args:
        adapter_factory: gives a new, unconnected adapter each time it is called.
        vehicles: how many to put in; 1 for a simulator of one vehicle.
        steps: how many steps each check runs.
        deterministic: whether two adapters of the factory must give the same bytes, and a
            vehicle that is put in again starts afresh.
        limit_s: how long one check may take; one that takes longer hangs.

    Returns:
        The names of the checks that passed.

    Raises:
        AdapterCheckError: listing every rule that is broken.
    """
    checks: list[tuple[str, Callable[[], None]]] = [
        ("life cycle", lambda: _check_life_cycle(adapter_factory)),
        ("bad calls", lambda: _check_bad_calls(adapter_factory)),
        ("id order", lambda: _check_id_order(adapter_factory, vehicles, steps)),
        ("time", lambda: _check_time(adapter_factory, vehicles, steps)),
        ("fleet changes", lambda: _check_fleet_changes(adapter_factory, vehicles)),
        ("capabilities", lambda: _check_capabilities(adapter_factory, vehicles, steps)),
        ("commands", lambda: check_commands(adapter_factory, vehicles)),
        ("snapshot", lambda: check_snapshot(adapter_factory, vehicles, steps)),
        ("never blocks", lambda: check_never_blocks(adapter_factory, vehicles)),
        ("threads", lambda: _check_threads(adapter_factory, vehicles, steps)),
    ]
    if deterministic:
        checks.append(("removal", lambda: check_removal(adapter_factory, vehicles)))
        checks.append(("determinism", lambda: _check_same_bytes(adapter_factory, vehicles, steps)))
    findings: list[str] = []
    for name, check in checks:
        fault = fault_within(limit_s, check)
        if fault is not None:
            findings.append(f"{name}: {_words(fault)}")
        if isinstance(fault, TimeoutError) and not isinstance(fault, PicoGzError):
            findings.append("the other checks were left out: this one hangs")
            break
    if findings:
        raise AdapterCheckError(findings)
    return [name for name, _ in checks]


def _words(fault: BaseException) -> str:
    if isinstance(fault, AssertionError | PicoGzError | TimeoutError):
        return str(fault) or type(fault).__name__
    return f"{type(fault).__name__} {fault}".strip()


def _check_life_cycle(factory: AdapterFactory) -> None:
    adapter = factory()
    require(bool(adapter.adapter_type), "adapter_type is empty")
    require(not adapter.is_connected(), "is connected before connect()")
    adapter.disconnect()
    adapter.connect()
    adapter.connect()
    require(adapter.is_connected(), "is not connected after connect()")
    adapter.disconnect()
    adapter.disconnect()
    require(not adapter.is_connected(), "is connected after disconnect()")
    adapter.connect()
    require(adapter.is_connected(), "cannot be connected again after disconnect()")
    adapter.disconnect()
    with factory() as again:
        require(again.is_connected(), "is not connected inside 'with'")
    require(not again.is_connected(), "is connected after 'with'")


def _check_bad_calls(factory: AdapterFactory) -> None:
    adapter = factory()
    _expect(SimulatorConnectionError, lambda: adapter.step(STEP_US), "step before connect")
    adapter.add_vehicle(config(1))
    _expect(DuplicateVehicleError, lambda: adapter.add_vehicle(config(1)), "a second vehicle 1")
    _expect(UnknownVehicleError, lambda: adapter.remove_vehicle(9), "removing a stranger")
    adapter.connect()
    stranger = {9: ActuatorCommands(0, 9, (0.0, 0.0))}
    _expect(UnknownVehicleError, lambda: adapter.send_actuators(stranger), "a stranger's command")
    _expect(ValueError, lambda: adapter.step(0), "a step of 0 us")
    adapter.disconnect()


def _expect(error: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"{what} does not raise {error.__name__}")


def _check_id_order(factory: AdapterFactory, vehicles: int, steps: int) -> None:
    with with_fleet(factory, vehicles) as adapter:
        expected = list(range(1, vehicles + 1))
        for _ in range(steps):
            drive(adapter, 0.3)
            adapter.step(STEP_US)
            records = adapter.receive_sensors()
            require(list(records) == expected, f"records come for {list(records)}")
            require(all(i == r.vehicle_id for i, r in records.items()), "a record has another id")
            truth = adapter.receive_truth()
            require(list(truth) in ([], expected), f"truth comes for {list(truth)}")


def _check_time(factory: AdapterFactory, vehicles: int, steps: int) -> None:
    with with_fleet(factory, vehicles) as adapter:
        for dt_us in (STEP_US,) * steps + (2 * STEP_US,):
            before_us = adapter.sim_time_us()
            adapter.step(dt_us)
            after_us = adapter.sim_time_us()
            require(after_us - before_us == dt_us, f"{dt_us} us became {after_us - before_us}")
            stamps = {r.timestamp_us for r in adapter.receive_sensors().values()}
            require(stamps == {after_us}, f"records are stamped {stamps}, not {after_us}")
            stamps = {t.timestamp_us for t in adapter.receive_truth().values()}
            require(stamps <= {after_us}, f"truth is stamped {stamps}, not {after_us}")
        again = adapter.receive_sensors()
        require(
            {r.timestamp_us for r in again.values()} == {adapter.sim_time_us()},
            "receive_sensors without a step changes the time",
        )


def _check_fleet_changes(factory: AdapterFactory, vehicles: int) -> None:
    with with_fleet(factory, vehicles) as adapter:
        adapter.step(STEP_US)
        adapter.remove_vehicle(1)
        require(1 not in adapter.vehicle_ids(), "a removed vehicle is still listed")
        require(1 not in adapter.receive_sensors(), "a removed vehicle still has records")
        adapter.add_vehicle(config(1))
        adapter.step(STEP_US)
        require(1 in adapter.receive_sensors(), "an id cannot be used again")


def _check_capabilities(factory: AdapterFactory, vehicles: int, steps: int) -> None:
    with with_fleet(factory, vehicles) as adapter:
        promised = adapter.capabilities()
        require(isinstance(promised, SimulatorCapabilities), "capabilities() gives no such thing")
        seen: set[str] = set()
        for _ in range(max(steps, _SLOWEST_SENSOR_STEPS)):
            adapter.step(STEP_US)
            for record in adapter.receive_sensors().values():
                seen |= {name for name in _SENSORS if getattr(record, _SENSORS[name]) is not None}
        for name in seen:
            require(getattr(promised.sensors, name), f"delivers {name} but does not say so")
        for name in _ALWAYS_FITTED:
            if getattr(promised.sensors, name):
                require(name in seen, f"promises {name} and delivers no sample")


# Of these every vehicle has one; a rangefinder is up to its rover.
_ALWAYS_FITTED = ("imu", "gps", "compass", "barometer")
_SLOWEST_SENSOR_STEPS = 220  # 2.2 s: a GPS may give one fix per second, and the first late

_SENSORS = {
    "imu": "imu",
    "gps": "gps",
    "compass": "compass",
    "barometer": "barometer",
    "rangefinder": "rangefinders",
}


def _check_same_bytes(factory: AdapterFactory, vehicles: int, steps: int) -> None:
    first, second = (_record_bytes(factory, vehicles, steps) for _ in range(2))
    require(first == second, "two runs of the same factory differ; is there a seed?")


def _record_bytes(factory: AdapterFactory, vehicles: int, steps: int) -> bytes:
    records: list[object] = []
    with with_fleet(factory, vehicles) as adapter:
        for step in range(steps):
            drive(adapter, 0.5 if step % 7 else -0.25)
            adapter.step(STEP_US)
            records.append(list(adapter.receive_sensors().values()))
    return msgspec.msgpack.encode(records)


def _check_threads(factory: AdapterFactory, vehicles: int, steps: int) -> None:
    """Eight threads at once: no exception, no lost step, readers never see half a step."""
    with with_fleet(factory, vehicles) as adapter:
        start = threading.Barrier(_THREADS)
        begin_us = adapter.sim_time_us()

        def work(number: int) -> None:
            start.wait(timeout=10.0)
            for _ in range(steps):
                if number % 2:
                    drive(adapter, 0.1)
                    adapter.step(STEP_US)
                else:
                    _read_everything(adapter)

        with ThreadPoolExecutor(_THREADS) as pool:
            for future in [pool.submit(work, number) for number in range(_THREADS)]:
                future.result(timeout=60.0)
        moved_us = adapter.sim_time_us() - begin_us
        expected_us = _THREADS // 2 * steps * STEP_US
        require(moved_us == expected_us, f"{expected_us} us of steps moved time by {moved_us}")


def _read_everything(adapter: SimulatorAdapter) -> None:
    adapter.is_connected()
    adapter.sim_time_us()
    adapter.capabilities()
    records = adapter.receive_sensors()
    stamps = {record.timestamp_us for record in records.values()}
    require(len(stamps) <= 1, f"a reader saw records of several steps: {sorted(stamps)}")
