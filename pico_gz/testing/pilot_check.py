"""Proves that an autopilot of your own can live in a fleet.

    from pico_gz.testing import check_autopilot
    check_autopilot(MyAutopilot)

raises ``AutopilotCheckError`` with everything that is wrong, or returns what was checked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import FleetView
from pico_gz.core.autopilot import Autopilot, AutopilotStatus
from pico_gz.core.ground_control import GcsVehicle, Result, Telemetry
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import DriveKind, Pose, VehicleConfig
from pico_gz.errors import PicoGzError
from pico_gz.testing.adapter_check import fault_within, require
from pico_gz.vehicle.own_autopilots import is_commandable, make_autopilot, name_for
from pico_gz.vehicle.platform.platform import SitlPlatform

PilotFactory = Callable[[], Any]

_SECOND_US = 1_000_000
_RUN_US = 5 * _SECOND_US
_UNITS = ("gps", "compass", "imu", "baro", "encoder")
_NO_MODE = 250


class AutopilotCheckError(PicoGzError, AssertionError):
    """An autopilot breaks its contract; ``findings`` lists every broken rule."""

    def __init__(self, findings: list[str]) -> None:
        super().__init__("The autopilot breaks its contract:\n- " + "\n- ".join(findings))
        self.findings = findings


def check_autopilot(
    factory: PilotFactory, *, preset: str = "pico_trail_freenove", limit_s: float = 60.0
) -> list[str]:
    """Check its making, its ticks, repeatability, lost sensors, snapshots and ground link.

    Args:
        factory: makes a new autopilot each time it is called, without arguments.
        preset: the rover that it is made for.
        limit_s: how long one check may take; one that takes longer hangs.

    Returns:
        The names of the checks that passed; ``snapshot`` and ``ground link`` are among them only
        where the autopilot has such a thing.

    Raises:
        AutopilotCheckError: listing every rule that is broken.
    """
    checks: dict[str, Callable[[], object]] = {
        "making": lambda: _check_making(factory),
        "driving": lambda: _driven(factory, preset),
        "two at once": lambda: _check_two(factory, preset),
        "repeatable": lambda: _check_repeatable(factory, preset),
        "status": lambda: _check_status(factory, preset),
        "lost sensors": lambda: _check_lost_sensors(factory, preset),
    }
    findings, passed = [], []
    for name, check in checks.items():
        fault = fault_within(limit_s, check)
        if fault is None:
            passed.append(name)
            continue
        findings.append(f"{name}: {_words(fault)}")
        if name == "making" or isinstance(fault, TimeoutError):
            break  # nothing else would say more
    else:
        for name, check in _optional_checks(factory, preset).items():
            fault = fault_within(limit_s, check)
            if fault is None:
                passed.append(name)
            else:
                findings.append(f"{name}: {_words(fault)}")
    if findings:
        raise AutopilotCheckError(findings)
    return passed


def _words(fault: BaseException) -> str:
    return str(fault) if isinstance(fault, AssertionError) else f"{type(fault).__name__}: {fault}"


def _optional_checks(factory: PilotFactory, preset: str) -> dict[str, Callable[[], object]]:
    made = _make(factory)
    checks: dict[str, Callable[[], object]] = {}
    if hasattr(made, "save_state") or hasattr(made, "load_state"):
        checks["snapshot"] = lambda: _check_snapshot(factory, preset)
    if is_commandable(made):
        checks["ground link"] = lambda: _check_ground_link(factory, preset)
    return checks


def _make(factory: PilotFactory) -> Autopilot:
    return make_autopilot(name_for(factory), {}, "the autopilot", None)


class _Run:
    """Autopilots on Lightweight rovers, and every command that they gave."""

    def __init__(self, pilots: Mapping[int, Autopilot], preset: str) -> None:
        self.bridge = SitlBridge()
        spec = rover_spec(preset)
        self.bridge.register_adapter(LightweightAdapter(seed=7, rover_of=lambda _: spec))
        self.commands: list[Mapping[int, ActuatorCommands]] = []
        self.raised: list[str] = []
        self.bridge.events.listen(
            lambda event: self.raised.append(event.text) if event.kind == "error" else None
        )
        self.bridge.after_step.add(self._note)
        for vehicle_id, pilot in pilots.items():
            pose = Pose(east_m=5.0 * (vehicle_id - 1))
            config = VehicleConfig(id=vehicle_id, preset=preset, channels=spec.channels, pose=pose)
            platform = SitlPlatform(vehicle_id, drive=spec.drive, channels=spec.channels)
            self.bridge.spawn_vehicle(config, pilot, platform=platform, drive=spec.drive)

    def _note(self, view: FleetView) -> None:
        self.commands.append(dict(view.commands))

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.bridge.close()

    def drive(self, duration_us: int = _RUN_US) -> None:
        """Let time pass; what an autopilot raises is a finding."""
        self.bridge.run(duration_us)
        require(not self.raised, self.raised[0] if self.raised else "")


def _driven(factory: PilotFactory, preset: str) -> list[Mapping[int, ActuatorCommands]]:
    with _Run({1: _make(factory)}, preset) as run:
        run.drive()
        return run.commands


def _check_making(factory: PilotFactory) -> None:
    first, second = _make(factory), _make(factory)
    require(first is not second, "the factory gave the same object twice")
    first.start(SitlPlatform(1, drive=DriveKind.SKID))


def _check_two(factory: PilotFactory, preset: str) -> None:
    """One does not disturb the other: vehicle 1 drives in a fleet as it drives alone."""
    alone = [commands[1] for commands in _driven(factory, preset)]
    with _Run({1: _make(factory), 2: _make(factory)}, preset) as run:
        run.drive()
    together = [commands[1] for commands in run.commands]
    require(alone == together, "it drives differently beside a second one: is something shared?")


def _check_repeatable(factory: PilotFactory, preset: str) -> None:
    first, second = _driven(factory, preset), _driven(factory, preset)
    for step, (one, other) in enumerate(zip(first, second, strict=True)):
        require(
            one == other,
            f"two runs of one seed differ at step {step}: random numbers or wall time inside?",
        )


def _check_status(factory: PilotFactory, preset: str) -> None:
    """A status comes at any time, from any thread, at once."""
    pilot = _make(factory)
    require(isinstance(pilot.status(), AutopilotStatus), "status() gives no AutopilotStatus")
    with _Run({1: pilot}, preset) as run:
        faults: list[BaseException] = []
        ended = threading.Event()

        def look() -> None:
            try:
                while not ended.is_set():
                    pilot.status()
            except BaseException as exc:
                faults.append(exc)

        reader = threading.Thread(target=look, name="pico-gz-status-check", daemon=True)
        reader.start()
        try:
            run.drive(_SECOND_US)
        finally:
            ended.set()
            reader.join(5.0)
        require(not reader.is_alive(), "status() blocks")
        require(not faults, f"status() raised on another thread: {faults[:1]}")


def _check_lost_sensors(factory: PilotFactory, preset: str) -> None:
    """It goes on, without a sensor, when one fails."""
    for unit in _UNITS:
        with _Run({1: _make(factory)}, preset) as run:
            run.drive(_SECOND_US)
            adapter = run.bridge.get_adapter(run.bridge.list_adapters()[0])
            try:
                adapter.set_failure(1, unit, "off")
            except PicoGzError:
                continue  # this rover has none
            run.bridge.run(2 * _SECOND_US)
            require(not run.raised, f"without {unit}: {run.raised[0] if run.raised else ''}")


def _check_snapshot(factory: PilotFactory, preset: str) -> None:
    """It continues bit for bit, in another object as well."""
    with _Run({1: _make(factory)}, preset) as run:
        run.drive(1_230_000)
        data = run.bridge.snapshot()
        before = len(run.commands)
        run.drive(2 * _SECOND_US)
        expected = run.commands[before:]
    with _Run({1: _make(factory)}, preset) as other:
        other.drive(370_000)  # another past, which must not show
        other.bridge.restore(data)
        before = len(other.commands)
        other.drive(2 * _SECOND_US)
        require(
            other.commands[before:] == expected,
            "a new one does not continue from a snapshot as the old one did: is all in its state?",
        )


def _check_ground_link(factory: PilotFactory, preset: str) -> None:
    """What a ground station asks at connect and presses first."""
    pilot = cast(GcsVehicle, _make(factory))
    with _Run({1: cast(Autopilot, pilot)}, preset) as run:
        run.drive(_SECOND_US)
        require(isinstance(pilot.telemetry(), Telemetry), "telemetry() gives no Telemetry")
        params = pilot.params
        for index in range(params.count()):
            info = params.by_index(index)
            require(info is not None and info.index == index, f"parameter {index} is not there")
            require(info is not None and params.by_name(info.name) == info, f"{info} by its name")
        require(params.by_index(params.count()) is None, "there is a parameter too many")
        require(params.by_name("NO_SUCH_PARAM") is None, "there is a parameter NO_SUCH_PARAM")
        require(pilot.set_mode(_NO_MODE) is not Result.ACCEPTED, f"it takes mode {_NO_MODE}")
        require(isinstance(pilot.arm(), Result), "arm() gives no Result")
        run.drive(_SECOND_US)
        require(pilot.disarm(force=True) is Result.ACCEPTED, "it cannot be disarmed by force")
        run.drive(_SECOND_US // 10)
        last = run.commands[-1][1]
        moved = [value for value in (*last.motors, *last.servos) if value != 0.0]
        require(not moved, "it commands its motors while it is disarmed")
