"""Repeats a recorded run and compares it bit for bit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from pico_gz import __version__
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep, with_speed
from pico_gz.bridge.observers import TraceDigest
from pico_gz.bridge.published import FleetView
from pico_gz.errors import ConfigError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.settings import ClockKind
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.diff import Difference, diff_step, length_difference
from pico_gz.run.recording.recorded_fleet import RecordedFleet
from pico_gz.run.recording.recorded_run import RecordedAutopilots, RecordedRun
from pico_gz.run.simulators import make_adapters


class RerunBy(StrEnum):
    """What a run is repeated from."""

    ACTUATORS = "actuators"  # the recorded commands, of any autopilot
    SEED = "seed"  # everything again, autopilots too


class RerunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a repetition went.

    Attributes:
        by: what it was repeated from.
        steps: how many steps were compared.
        recorded_sha256: digest of the recorded steps.
        rerun_sha256: digest of the repeated steps.
        difference: where they begin to differ, ``None`` when they do not.
        complete: whether the recording was finished; otherwise its first part was repeated.
        run_steps: how many steps the run had, by ``run.json``; ``None`` when it is not there.
        run_sha256: digest of the whole run, by ``run.json``; ``None`` when it is not there.
        recorded_version: of the kit that recorded the run.
        rerun_version: of the kit that repeated it.
    """

    by: RerunBy
    steps: int
    recorded_sha256: str
    rerun_sha256: str
    difference: Difference | None
    complete: bool
    run_steps: int | None
    run_sha256: str | None
    recorded_version: str
    rerun_version: str

    @property
    def same(self) -> bool:
        """Whether every bit came again, and the recording is the one of its run."""
        same_bits = self.difference is None and self.recorded_sha256 == self.rerun_sha256
        return same_bits and not self.is_of_another_run

    @property
    def is_of_another_run(self) -> bool:
        """Whether a whole recording has another digest than the run that it claims to be of."""
        if not self.complete or self.difference is not None or self.run_sha256 is None:
            return False
        return self.run_sha256 != self.recorded_sha256


def rerun(run: RecordedRun, by: RerunBy = RerunBy.ACTUATORS) -> RerunResult:
    """Repeat a run, as far as it was recorded.

    Raises:
        ConfigError: it was a kind of run that does not repeat (Gazebo, free-running).
        RecordingError: it holds no step.
    """
    run.require_steps()
    comparison = _Comparison(run.steps())
    with tempfile.TemporaryDirectory(prefix="pico_gz_rerun_") as folder:
        recorded = run.fleet(Path(folder))
        _require_repeatable(recorded.fleet)
        recorded.require_adapters()
        try:
            if by is RerunBy.ACTUATORS:
                _rerun_actuators(run, recorded, comparison)
            else:
                _rerun_seed(run, recorded, comparison, Path(folder))
        except (ArithmeticError, IndexError) as exc:
            raise ConfigError(f"The recorded fleet cannot drive: {exc}.") from exc
    comparison.end()
    result = run.facts.get("result") or {}
    return RerunResult(
        by=by,
        steps=comparison.steps,
        recorded_sha256=comparison.recorded.hexdigest(),
        rerun_sha256=comparison.repeated.hexdigest(),
        difference=comparison.difference,
        complete=run.complete,
        run_steps=result.get("steps"),
        run_sha256=result.get("trace_sha256"),
        recorded_version=str(run.facts.get("version", "unknown")),
        rerun_version=__version__,
    )


class _Comparison:
    """Takes the steps of the repetition and holds them against the recorded ones."""

    def __init__(self, recorded: Iterator[FleetView]) -> None:
        self._steps = recorded
        self.next = next(recorded, None)
        self.recorded = TraceDigest()
        self.repeated = TraceDigest()
        self.steps = 0
        self.difference: Difference | None = None

    def add(self, view: FleetView) -> None:
        expected = self.next
        if expected is None:
            return
        self.steps += 1
        self.recorded(expected)
        self.repeated(view)
        if self.difference is None:
            self.difference = diff_step(expected, view)
        self.next = next(self._steps, None)

    def end(self) -> None:
        """Note that the repetition has no more steps; recorded ones that are left differ."""
        if self.next is not None and self.difference is None:
            self.difference = length_difference(self.next, None)

    def is_over(self, view: FleetView | None = None) -> bool:
        """Whether there is nothing left to compare; the first difference is enough."""
        return self.next is None or self.difference is not None


def _rerun_actuators(run: RecordedRun, recorded: RecordedFleet, comparison: _Comparison) -> None:
    recorded.require_files("heightmap")
    fleet = recorded.fleet
    bridge = SitlBridge(Lockstep(fleet.time.step_us))
    contacts = bool(run.facts.get("options", {}).get("contacts", True))
    try:
        for adapter in make_adapters(fleet, RunOptions(contacts=contacts)):
            bridge.register_adapter(adapter)
        for plan in fleet.vehicles:
            bridge.spawn_vehicle(plan.config, drive=plan.rover.drive, external=True)
        ids = tuple(bridge.list_vehicles())
        bridge.add_autopilots(RecordedAutopilots(ids, lambda: comparison.next))
        while not comparison.is_over():
            comparison.add(bridge.step())
    finally:
        bridge.close()


def _rerun_seed(
    run: RecordedRun, recorded: RecordedFleet, comparison: _Comparison, folder: Path
) -> None:
    if comparison.is_over():
        return
    recorded.require_files()
    asked = run.facts.get("options", {})
    _require_own_pilots(recorded)
    recorded.require_autopilots()
    options = RunOptions(
        demo=bool(asked.get("demo", False)),
        rc=recorded.rc,
        contacts=bool(asked.get("contacts", True)),
        relative_missions=bool(asked.get("relative_missions", False)),
        run_folder=folder,
        mavlink=False,
        control=False,
        check_ports=False,
    )
    with FleetRun(recorded.fleet, options) as session:
        bridge = session.bridge
        bridge.time_mode = with_speed(bridge.time_mode, None)
        session.bridge.after_step.add(comparison.add)
        session.run(until=comparison.is_over)


def _require_own_pilots(recorded: RecordedFleet) -> None:
    """Refuse what comes from outside of the run: it does not come again by itself."""
    hint = "Repeat it from the recorded actuators."
    if recorded.rc != "none" and not recorded.rc.startswith("script:"):
        raise ConfigError(
            f"Radio control by {recorded.rc!r} does not come again by itself.", hint=hint
        )
    if any(plan.config.is_external for plan in recorded.fleet.vehicles):
        raise ConfigError("External autopilots do not come again by themselves.", hint=hint)


def _require_repeatable(fleet: FleetConfig) -> None:
    types = sorted({fleet.adapter_type(plan.config.adapter) for plan in fleet.vehicles})
    if "gazebo" in types or "auto" in types:
        raise ConfigError("Gazebo does not repeat a run bit for bit.", hint="Lightweight does.")
    if fleet.time.mode is ClockKind.FREE_RUNNING:
        raise ConfigError("A free-running run depends on the wall clock; it does not repeat.")
