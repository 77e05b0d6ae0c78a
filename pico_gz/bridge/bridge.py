"""SitlBridge: register adapters, spawn vehicles, step and run."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge import fleet_snapshot
from pico_gz.bridge.adapter_runner import AdapterPhase
from pico_gz.bridge.autopilots import AutopilotGroup, BuiltInAutopilots, PilotPhase
from pico_gz.bridge.clock import Lockstep, TimeMode, check_duration, check_step_count, with_speed
from pico_gz.bridge.fleet import Fleet, VehicleInstance
from pico_gz.bridge.fleet_stepper import FleetStepper
from pico_gz.bridge.free_running import Tell
from pico_gz.bridge.membership import Membership
from pico_gz.bridge.published import BridgeEvent, BridgeState, EventLog, FleetView, RunStats
from pico_gz.bridge.run_loop import RunLoop, StepBoundary
from pico_gz.bridge.stall import StallRules
from pico_gz.core.autopilot import Autopilot, Platform
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError

# The board of a vehicle that brings none; by name, because the bridge works with any platform.
DEFAULT_PLATFORM = "pico_gz.vehicle.platform.platform:SitlPlatform"


class Watchdog:
    """A thread that looks every now and then whether the step under way is late."""

    def __init__(
        self,
        cycle: FleetStepper,
        pilots: BuiltInAutopilots,
        adapters: AdapterPhase,
        *,
        tell: Tell,
        clock: Callable[[], float],
        warn_s: float,
    ) -> None:
        self._cycle = cycle
        self._pilots = pilots
        self._adapters = adapters
        self._tell = tell
        self._clock = clock
        self._warn_s = warn_s
        self._told_about_s = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="pico-gz-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=1.0)

    def _loop(self) -> None:
        while not self._closed.wait(self._warn_s / 4.0):
            self.look()

    def look(self) -> None:
        """Tell once per step that is late; never blocks."""
        started_s = self._cycle.started_s
        if not started_s or started_s == self._told_about_s:
            return
        late_s = self._clock() - started_s
        if late_s >= self._warn_s and self._tell_waiting(f"since {1000.0 * late_s:.0f} ms"):
            self._told_about_s = started_s

    def _tell_waiting(self, since: str) -> bool:
        """Tell who holds the step; False when nobody does."""
        vehicle_id, slot = self._pilots.running_id, self._adapters.waited_for
        if vehicle_id:
            text = f"Waiting for the autopilot of vehicle {vehicle_id} {since}."
            self._tell("waiting", text, vehicle_id=vehicle_id)
            return True
        if slot is not None:
            self._adapters.told.add(slot)
            self._tell("waiting", f"Waiting for {slot} {since}.", adapter=slot.name)
            return True
        return False


class SitlBridge:
    """Joins simulator adapters and vehicles and moves all of them through time.

    One step, as ``step()`` does it: every vehicle gets its sensors and gives its command; the
    commands go to the adapters; time goes on by one step in all of them; what happened is
    published in ``view``.

    Any method may be called from any thread. While ``run`` is active, calls that change the
    fleet are carried out between two steps.

    Attributes:
        rules: what to do about whoever does not answer.
        events: what happened, newest last.
        before_step: told the time before each step; one that keeps a state (``save_state``,
            ``load_state``) is part of a snapshot.
        after_step: told the view after each step.
        while_idle: told the time now and then while the run is paused or waits.
        between_steps: carries out a call between two steps and returns its result.
    """

    def __init__(
        self,
        time_mode: TimeMode | None = None,
        *,
        stall: StallRules | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = stall or StallRules()
        self.events = EventLog()
        self._clock = clock
        self._fleet = Fleet()
        self._own_pilots = BuiltInAutopilots(self.report)
        self._pilots = PilotPhase(self._fleet, self)
        self._pilots.groups.append(self._own_pilots)
        self._adapters = AdapterPhase(self)
        self._members = Membership(self._fleet, self._adapters, self._own_pilots)
        self._cycle = FleetStepper(
            self._fleet,
            self._pilots,
            self._adapters,
            clock=clock,
            on_hook_failure=self._hook_failed,
        )
        self.before_step = self._cycle.before_step
        self.after_step = self._cycle.after_step
        self._boundary = StepBoundary()
        self.call = self.between_steps = self._boundary.call
        self._loop = RunLoop(
            time_mode or Lockstep(),
            self._cycle,
            self._adapters,
            self._pilots.groups,
            self._boundary,
            tell=self._tell,
            on_hook_failure=self._hook_failed,
            clock=clock,
            warn_s=self.rules.warn_ms / 1000.0,
        )
        self.while_idle = self._loop.while_idle
        self._started = False

    # --- adapters -------------------------------------------------------------------------

    def register_adapter(self, adapter: SimulatorAdapter, name: str | None = None) -> str:
        """Take an adapter in, under its own name or another, and return that name.

        It is connected when the run starts, so that it knows its vehicles by then, or at once
        when the run is under way.
        """
        return self.between_steps(lambda: self._register(adapter, name or adapter.name))

    def unregister_adapter(self, name: str) -> SimulatorAdapter:
        """Let an adapter go and disconnect it; no vehicle may be on it."""
        return self.between_steps(lambda: self._unregister(name))

    def get_adapter(self, name: str) -> SimulatorAdapter:
        """The adapter of this name."""
        return self._members.slot(name).adapter

    def list_adapters(self) -> list[str]:
        """The registered names, in order of registration."""
        return list(self._adapters.slots)

    # --- vehicles -------------------------------------------------------------------------

    def spawn_vehicle(
        self,
        config: VehicleConfig,
        autopilot: Autopilot | None = None,
        *,
        platform: Platform | None = None,
        drive: DriveKind = DriveKind.SKID,
        external: bool = False,
    ) -> VehicleInstance:
        """Put a vehicle into the fleet and, if its adapter is known, into the simulator.

        Args:
            config: who it is; an empty ``adapter`` means the only one, or unassigned.
            autopilot: what runs on its platform; ``None`` leaves it in neutral.
            platform: its hardware; made here when not given.
            drive: what its actuator commands mean, when no platform is given.
            external: a pilot group drives it (``add_pilots``): it gets no platform.

        Raises:
            DuplicateVehicleError: the id is taken.
            UnknownAdapterError: ``config.adapter`` is not registered.
        """
        if external and (autopilot or platform):
            raise ConfigError("An external vehicle has neither platform nor autopilot here.")
        if not external and platform is None:
            platform = _default_platform()(config.id, drive=drive, channels=config.channels)
        vehicle = VehicleInstance(
            config, adapter="", platform=platform, autopilot=autopilot, drive=drive
        )
        return self.between_steps(lambda: self._members.spawn(vehicle, self._cycle.time_us))

    def despawn_vehicle(self, vehicle_id: int) -> None:
        """Take a vehicle out; its id can be used again."""
        self.between_steps(lambda: self._despawn(vehicle_id))

    def get_vehicle(self, vehicle_id: int) -> VehicleInstance:
        """The vehicle with this id."""
        return self._fleet.get(vehicle_id)

    def list_vehicles(self) -> list[int]:
        """All vehicle ids, ascending."""
        return list(self._fleet.ids())

    def vehicles(self) -> list[VehicleInstance]:
        """All vehicles in id order."""
        return list(self._fleet)

    def assign_vehicle_to_adapter(self, vehicle_id: int, name: str) -> None:
        """Simulate a vehicle elsewhere from the next step on."""
        self.between_steps(lambda: self._members.assign(self._fleet.get(vehicle_id), name))

    def add_pilots(self, group: AutopilotGroup) -> None:
        """Let a group drive its (external) vehicles."""
        self.between_steps(lambda: self._pilots.groups.append(group))

    # --- time -----------------------------------------------------------------------------

    @property
    def view(self) -> FleetView:
        """What was published after the last step; immutable, for any thread."""
        return self._cycle.view

    @property
    def stats(self) -> RunStats:
        """Step latency, lost steps, real-time factor."""
        return self._cycle.stats

    @property
    def state(self) -> BridgeState:
        """What the bridge is doing."""
        return self._loop.state

    @property
    def time_mode(self) -> TimeMode:
        """How simulation and wall time belong together."""
        return self._loop.mode

    def sim_time_us(self) -> int:
        """The fleet's simulation time [us]."""
        return self._cycle.time_us

    def set_time_mode(self, mode: TimeMode) -> None:
        """Change the clock, also while running."""
        self.between_steps(lambda: self._loop.set_mode(mode))

    def set_speed(self, factor: float | None) -> None:
        """Change the speed, also while running; ``None`` is as fast as possible."""
        self.set_time_mode(with_speed(self._loop.mode, factor))

    def pause(self) -> None:
        """Hold time after the step under way."""
        self._loop.pause()

    def is_paused(self) -> bool:
        """Whether time is held."""
        return self._loop.is_paused()

    def resume(self) -> None:
        """Let time go on."""
        self._loop.resume()

    def stop(self) -> None:
        """End ``run`` after the step under way; harmless at any time."""
        self._loop.stop()
        for slot in list(self._adapters.slots.values()):
            slot.adapter.cancel_connect()

    def step(self, count: int = 1) -> FleetView:
        """Move the whole fleet by ``count`` steps and return what is published.

        While ``run`` is paused this asks for single steps and returns at once.
        """
        check_step_count(count)
        if self._boundary.is_foreign_thread():
            if not self._loop.is_paused():
                raise ConfigError("The run is not paused.", hint="Pause it first.")
            self._loop.ask_steps(count)
            return self.view
        self._begin()
        self._loop.step_many(count)
        return self.view

    def run(
        self,
        duration_us: int | None = None,
        *,
        until: Callable[[FleetView], bool] | None = None,
    ) -> RunStats:
        """Step until ``duration_us`` of simulation time, ``until(view)``, or ``stop()``."""
        check_duration(duration_us)
        self._begin()
        end_us = None if duration_us is None else self._cycle.time_us + duration_us
        self._boundary.claim()
        try:
            with self._watchdog():
                self._loop.run(end_us, until)
        finally:
            self._boundary.release()
        return self.stats

    async def run_async(
        self,
        duration_us: int | None = None,
        *,
        until: Callable[[FleetView], bool] | None = None,
    ) -> RunStats:
        """``run`` on a thread, for asyncio programs; cancelling stops the run."""
        import asyncio  # only here: it takes a tenth of a second

        task = asyncio.create_task(asyncio.to_thread(self.run, duration_us, until=until))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.stop()
            await task
            raise

    def close(self) -> None:
        """Stop, disconnect every adapter, close every pilot group; harmless when called twice."""
        self.stop()
        self._boundary.wait_until_released(5.0)
        self._loop.close()
        for group in self._pilots.groups:
            group.close()
        for slot in self._adapters.slots.values():
            slot.close()

    # --- snapshots ------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Everything needed to go on from here, with the same adapters and vehicles."""
        return self.between_steps(
            lambda: fleet_snapshot.save(self._cycle, self._adapters, self._fleet)
        )

    def restore(self, data: bytes) -> None:
        """Go on from what ``snapshot`` gave; adapters and vehicles must be the same."""

        def apply() -> None:
            time_us, records = fleet_snapshot.load(data, self._cycle, self._adapters, self._fleet)
            self._cycle.go_on_from(time_us, records, self._loop.state)
            self._loop.restart_pace()

        self.between_steps(apply)

    def seek(self, time_us: int, adapter_states: Mapping[str, Mapping[str, Any]]) -> None:
        """Continue at another time: adapters get these states, vehicles keep theirs.

        For adapters that show recorded time; any thread.
        """

        def apply() -> None:
            fleet_snapshot.load_adapters(self._adapters, time_us, adapter_states)
            self._cycle.go_on_from(time_us, dict(self._cycle.records), self._loop.state)
            self._loop.restart_pace()

        self.between_steps(apply)

    # --- what the phases of a step ask for (RunControl) -------------------------------------

    def report(self, event: BridgeEvent) -> None:
        """Tell what happened."""
        self.events.add(event)

    def _tell(self, kind: str, text: str, **about: Any) -> None:
        self.report(BridgeEvent(time_us=self._cycle.time_us, kind=kind, text=text, **about))

    def now_s(self) -> float:
        """Monotonic wall clock [s]."""
        return self._clock()

    def stop_requested(self) -> bool:
        """Whether the run is being stopped."""
        return self._loop.stop_requested()

    def drop_vehicles(self, vehicle_ids: Sequence[int]) -> None:
        """Despawn them after this step."""
        self._boundary.later(lambda: self._drop(vehicle_ids))

    def go_free_running(self) -> None:
        """Go on in FreeRunning after this step."""
        self._boundary.later(lambda: self._loop.fall_back("A vehicle stalled."))

    # --- changes between steps ----------------------------------------------------------------

    def _begin(self) -> None:
        """What must be so before the first step: everybody has a simulator, all are reached."""
        self._fleet.require_assigned()
        self._members.connect_all(self._cycle.time_us)
        if not self._started:
            self._started = True
            for slot in self._adapters.slots.values():
                self._loop.check_lockstep(slot)

    def _watchdog(self) -> Watchdog:
        return Watchdog(
            self._cycle,
            self._own_pilots,
            self._adapters,
            tell=self._tell,
            clock=self._clock,
            warn_s=self.rules.warn_ms / 1000.0,
        )

    def _register(self, adapter: SimulatorAdapter, name: str) -> str:
        slot = self._members.register(adapter, name)
        if self._started:
            self._members.connect_or_unregister(slot, self._cycle.time_us)
            self._loop.check_lockstep(slot)
            self._loop.start_free_running()
        return name

    def _unregister(self, name: str) -> SimulatorAdapter:
        self._members.require_empty(name)
        self._loop.release_adapter(name)
        return self._members.unregister(name)

    def _despawn(self, vehicle_id: int) -> None:
        self._members.despawn(vehicle_id)
        self._cycle.records = {i: r for i, r in self._cycle.records.items() if i != vehicle_id}

    def _drop(self, vehicle_ids: Sequence[int]) -> None:
        for vehicle_id in vehicle_ids:
            if vehicle_id in self._fleet:
                self._despawn(vehicle_id)
                text = f"Vehicle {vehicle_id} was removed because it stalled."
                self._tell("drop", text, vehicle_id=vehicle_id)

    def _hook_failed(self, where: str, exc: Exception) -> None:
        self._tell("error", f"An observer {where} raised {type(exc).__name__}: {exc}", severity=3)

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Switch a failure of a vehicle's sensor or actuator; ``ok`` ends it."""
        self.between_steps(
            lambda: self._members.adapter_of(vehicle_id).set_failure(vehicle_id, unit, kind)
        )

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a simulation parameter of one vehicle, by its ``SIM_*`` name."""
        self.between_steps(
            lambda: self._members.adapter_of(vehicle_id).set_environment(vehicle_id, name, value)
        )

    def set_pose(
        self,
        vehicle_id: int,
        north_m: float,
        east_m: float,
        yaw_deg: float,
        speed_mps: float = 0.0,
    ) -> None:
        """Put a vehicle somewhere else, standing still or going straight on."""
        self.between_steps(
            lambda: self._members.adapter_of(vehicle_id).set_motion(
                vehicle_id, north_m, east_m, yaw_deg, speed_mps
            )
        )


def _default_platform() -> Callable[..., Platform]:
    """The class of the kit's own platform, imported when it is first needed."""
    module, _, name = DEFAULT_PLATFORM.partition(":")
    platform: Callable[..., Platform] = getattr(importlib.import_module(module), name)
    return platform
