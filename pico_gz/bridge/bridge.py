"""SitlBridge: register adapters, spawn vehicles, step and run."""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge import fleet_snapshot
from pico_gz.bridge.at_work import Role, at_work
from pico_gz.bridge.clock import Lockstep, TimeMode, check_duration, check_step_count
from pico_gz.bridge.fleet import AutopilotGroup, VehicleInstance, VehicleList
from pico_gz.bridge.fleet_stepper import FleetStepper
from pico_gz.bridge.published import BridgeState, EventLog, FleetView
from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.bridge.run_loop import RunLoop, StepBoundary, Watchdog
from pico_gz.bridge.run_stats import RunStats
from pico_gz.bridge.stall import StallPolicy, StallRules
from pico_gz.bridge.timeline import Timeline
from pico_gz.core.autopilot import Autopilot, Platform
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError, SimulatorError, UnknownAdapterError

T = TypeVar("T")

MAX_DISTANCE_M = 1_000_000.0  # of a place from the origin

# The board of a vehicle that brings none; by name, because the bridge works with any platform.
DEFAULT_PLATFORM = "pico_gz.vehicle.platform.platform:SitlPlatform"


class SitlBridge:
    """Joins simulator adapters and vehicles and moves all of them through time.

    One step (``FleetStepper.step``): every vehicle gets its sensors and gives its command; the
    commands go to the adapters; all of them move by one step; the result is published in
    ``view``.

    Any method may be called from any thread. While ``run`` is active, calls that change the
    fleet are carried out between two steps.

    Attributes:
        events: what happened, newest last; ``events.add`` publishes one more.
        vehicles: all of them, in id order.
        stats: step latency, lost steps, real-time factor.
        before_step: observers, called with the time before each step; one that keeps a state
            (``save_state``, ``load_state``) is part of a snapshot.
        after_step: observers, called with the view after each step.
        while_idle: observers, called with the time now and then while the run is paused or waits.
        timeline: what else goes back with a restored snapshot.
    """

    def __init__(
        self,
        time_mode: TimeMode | None = None,
        *,
        stall: StallRules | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.events = EventLog()
        self.timeline = Timeline()
        self.timeline.add_past(self.events)
        rules = stall or StallRules()
        stop = threading.Event()
        self._clock = clock
        self._warn_s = rules.warn_ms / 1000.0
        self._fleet = VehicleList()
        self._stepper = FleetStepper(
            self._fleet, self.events, rules=rules, clock=clock, stop=stop, on_stall=self._stalled
        )
        self.vehicles: Iterable[VehicleInstance] = self._fleet
        self.stats = self._stepper.stats
        self.before_step = self._stepper.before_step
        self.after_step = self._stepper.after_step
        self._boundary = StepBoundary()
        self._loop = RunLoop(
            time_mode or Lockstep(),
            self._stepper,
            self._boundary,
            clock=clock,
            stop=stop,
            warn_s=self._warn_s,
        )
        self.while_idle = self._loop.while_idle
        self._started = False

    def at_work(self) -> tuple[Role, object]:
        """What the simulation thread executes now, and in which role; for any thread."""
        return at_work(self._fleet, self._stepper, self._loop)

    # --- adapters -------------------------------------------------------------------------

    def register_adapter(self, adapter: SimulatorAdapter, name: str | None = None) -> str:
        """Register an adapter under its own name or another, and return that name.

        It is connected when the run starts, so that it knows its vehicles by then, or at once
        when the run is under way.
        """
        return self.at_step_boundary(lambda: self._register(adapter, name or adapter.name))

    def unregister_adapter(self, name: str) -> SimulatorAdapter:
        """Remove and disconnect an adapter; no vehicle may be on it."""
        return self.at_step_boundary(lambda: self._unregister(name))

    def get_adapter(self, name: str) -> SimulatorAdapter:
        """The adapter of this name."""
        return self._slot(name).adapter

    def list_adapters(self) -> list[str]:
        """The registered names, in order of registration."""
        return list(self._stepper.adapters)

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
            config: its identity; an empty ``adapter`` means the only one, or unassigned.
            autopilot: what runs on its platform; ``None`` leaves it in neutral.
            platform: its hardware; made here when not given.
            drive: what its actuator commands mean, when no platform is given.
            external: an autopilot group drives it (``add_autopilots``): it gets no platform.

        Raises:
            DuplicateVehicleError: the id is taken.
            UnknownAdapterError: ``config.adapter`` is not registered.
        """
        if external and (autopilot or platform):
            raise ConfigError("An external vehicle has neither platform nor autopilot here.")
        if not external and platform is None:
            platform = _default_platform()(
                config.id,
                drive=drive,
                channels=config.channels,
                aircraft_channels=config.aircraft_channels,
            )
        vehicle = VehicleInstance(
            config, adapter="", platform=platform, autopilot=autopilot, drive=drive
        )
        return self.at_step_boundary(lambda: self._spawn(vehicle))

    def despawn_vehicle(self, vehicle_id: int) -> None:
        """Remove a vehicle; its id can be used again."""
        self.at_step_boundary(lambda: self._despawn(vehicle_id))

    def get_vehicle(self, vehicle_id: int) -> VehicleInstance:
        """The vehicle with this id."""
        return self._fleet.get(vehicle_id)

    def list_vehicles(self) -> list[int]:
        """All vehicle ids, ascending."""
        return list(self._fleet.ids())

    def assign_vehicle_to_adapter(self, vehicle_id: int, name: str) -> None:
        """Simulate a vehicle elsewhere from the next step on."""
        self.at_step_boundary(lambda: self._assign(self._fleet.get(vehicle_id), name))

    def add_autopilots(self, group: AutopilotGroup) -> None:
        """Let a group drive its (external) vehicles."""
        self.at_step_boundary(lambda: self._stepper.wires.append(group))

    # --- time -----------------------------------------------------------------------------

    @property
    def view(self) -> FleetView:
        """What was published after the last step; immutable, for any thread."""
        return self._stepper.view

    @property
    def state(self) -> BridgeState:
        """What the bridge is doing; paused from ``pause`` to ``resume``, unless it failed."""
        state = self._loop.state
        if state is BridgeState.FAILED:
            return state
        if self._loop.is_paused():
            return BridgeState.PAUSED
        # Resumed, and the loop has not looked yet.
        return BridgeState.RUNNING if state is BridgeState.PAUSED else state

    @property
    def time_mode(self) -> TimeMode:
        """How simulation and wall time belong together; may be changed while running."""
        return self._loop.mode

    @time_mode.setter
    def time_mode(self, mode: TimeMode) -> None:
        self.at_step_boundary(lambda: self._loop.set_mode(mode))

    def pause(self) -> None:
        """Hold time after the step under way."""
        self._loop.pause()

    def resume(self) -> None:
        """Let time pass again."""
        self._loop.resume()

    def stop(self) -> None:
        """End ``run`` after the step under way; harmless at any time."""
        self._loop.stop()
        for slot in self._stepper.adapters.values():
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
        until: Callable[[FleetView], object] | None = None,
    ) -> RunStats:
        """Step until ``duration_us`` of simulation time, ``until(view)``, or ``stop()``."""
        check_duration(duration_us)
        self._begin()
        end_us = None if duration_us is None else self._stepper.time_us + duration_us
        self._boundary.claim()
        try:
            with Watchdog(self._stepper, clock=self._clock, warn_s=self._warn_s):
                self._loop.run(end_us, until)
        finally:
            self._boundary.release()
        return self.stats

    async def run_async(
        self,
        duration_us: int | None = None,
        *,
        until: Callable[[FleetView], object] | None = None,
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

    def at_step_boundary(self, change: Callable[[], T]) -> T:
        """Call ``change`` between two steps and return its result."""
        return self._boundary.call(change)

    def close(self) -> None:
        """Stop, close every wire, disconnect every adapter; harmless when called twice."""
        self.stop()
        self._boundary.wait_until_released(5.0)
        self._loop.close()
        for wire in self._stepper.wires:
            wire.close()
        for slot in self._stepper.adapters.values():
            slot.close()

    # --- snapshots ------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Everything needed to continue from here, with the same adapters and vehicles."""

        def take() -> bytes:
            data = fleet_snapshot.save(self._stepper, self._fleet, self.timeline)
            self.timeline.mark(data)
            return data

        return self.at_step_boundary(take)

    def restore(self, data: bytes) -> None:
        """Continue from what ``snapshot`` gave; adapters and vehicles must be the same.

        Histories, events and recordings then show the time line of the snapshot. One from
        another process has no past here: they begin with it.

        Also takes what ``fleet_snapshot.of_adapters`` made: all but the adapters keep their state.
        """

        def apply() -> None:
            found = fleet_snapshot.load(data, self._stepper, self._fleet, self.timeline)
            self._stepper.continue_from(found.time_us, found.records, self._loop.state)
            self._loop.restart_pace()
            if found.is_whole:
                self.timeline.go_back(data, found.time_us)
                text = f"Restored to {found.time_us / 1e6:.2f} s."
                self._stepper.report("restore", text, severity=6)

        self.at_step_boundary(apply)

    def set_pose(
        self,
        vehicle_id: int,
        north_m: float,
        east_m: float,
        yaw_deg: float,
        speed_mps: float = 0.0,
    ) -> None:
        """Put a vehicle somewhere else, standing still or going straight on.

        Vehicles may be put into each other: the next step reports the contact.

        Raises:
            ConfigError: the place is too far away, or a number is not finite.
        """
        near = abs(north_m) <= MAX_DISTANCE_M and abs(east_m) <= MAX_DISTANCE_M
        if not (near and math.isfinite(yaw_deg)):
            raise ConfigError(
                f"Vehicle {vehicle_id} cannot be put at north {north_m:g} m, east {east_m:g} m, "
                f"yaw {yaw_deg:g} deg.",
                hint=f"Places are within {MAX_DISTANCE_M:,.0f} m of the origin.",
            )
        if not math.isfinite(speed_mps):
            raise ConfigError(f"Vehicle {vehicle_id} cannot move at {speed_mps:g} m/s.")
        self.at_step_boundary(
            lambda: self._adapter_of(vehicle_id).set_motion(
                vehicle_id, north_m, east_m, yaw_deg, speed_mps
            )
        )

    # --- changes between steps ----------------------------------------------------------------

    def _begin(self) -> None:
        """Check before a step that every vehicle has a simulator and all are connected."""
        self._fleet.require_assigned()
        slots = self._stepper.adapters.values()
        for slot in slots:
            if not slot.adapter.is_connected():
                slot.connect(self._stepper.time_us)
        if not self._started:
            self._started = True
            for slot in slots:
                self._loop.check_lockstep(slot)

    def _slot(self, name: str) -> RegisteredAdapter:
        try:
            return self._stepper.adapters[name]
        except KeyError:
            raise UnknownAdapterError(name, self._stepper.adapters) from None

    def _adapter_of(self, vehicle_id: int) -> SimulatorAdapter:
        name = self._fleet.get(vehicle_id).adapter
        if not name:
            raise SimulatorError(f"No adapter simulates vehicle {vehicle_id}.")
        return self._slot(name).adapter

    def _register(self, adapter: SimulatorAdapter, name: str) -> str:
        slots = self._stepper.adapters
        if name in slots:
            raise ConfigError(
                f"An adapter named {name!r} is registered already.",
                hint="Give this one another name: register_adapter(adapter, name='...').",
            )
        known = [n for n, slot in slots.items() if slot.adapter is adapter]
        if known:
            raise ConfigError(
                f"This adapter is registered already, as {known[0]!r}.",
                hint="It would step twice: make a second one of its type.",
            )
        adapter.name = name
        slot = RegisteredAdapter(name, adapter)
        self._stepper.adapters = {**slots, name: slot}
        if self._started:
            try:
                slot.connect(self._stepper.time_us)
            except BaseException:  # one that cannot be reached is not kept
                self._unregister(name)
                raise
            self._loop.check_lockstep(slot)
            self._loop.start_free_running()
        return name

    def _unregister(self, name: str) -> SimulatorAdapter:
        slot = self._slot(name)
        on_it = [str(vehicle.id) for vehicle in self._fleet.on_adapter(name)]
        if on_it:
            raise ConfigError(
                f"Adapter {name!r} still simulates vehicle {', '.join(on_it)}.",
                hint="Despawn or reassign them first.",
            )
        self._loop.release_adapter(name)
        self._stepper.adapters = {n: s for n, s in self._stepper.adapters.items() if n != name}
        slot.close()
        return slot.adapter

    def _spawn(self, vehicle: VehicleInstance) -> VehicleInstance:
        """Add a vehicle, whole or not at all; without an adapter's name, to the only one."""
        name = vehicle.config.adapter
        if not name and len(self._stepper.adapters) == 1:
            name = next(iter(self._stepper.adapters))
        if name:
            self._slot(name)
        self._fleet.add(vehicle)
        try:
            if name:
                self._assign(vehicle, name)
            if vehicle.autopilot is not None and vehicle.platform is not None:
                vehicle.autopilot.start(vehicle.platform)
                vehicle.platform.hold_while_disarmed(lambda: vehicle.checked_status().armed)
        except BaseException:
            self._despawn(vehicle.id)
            raise
        vehicle.next_tick_us = self._stepper.time_us
        return vehicle

    def _despawn(self, vehicle_id: int) -> None:
        vehicle = self._fleet.remove(vehicle_id)
        if vehicle.adapter:
            self._slot(vehicle.adapter).remove_vehicle(vehicle_id)
        self._stepper.forget(vehicle_id)

    def _assign(self, vehicle: VehicleInstance, name: str) -> None:
        slot = self._slot(name)
        if vehicle.adapter == name:
            return
        slot.add_vehicle(vehicle.config)
        if vehicle.adapter:
            self._slot(vehicle.adapter).remove_vehicle(vehicle.id)
        vehicle.adapter = name

    def _stalled(self, policy: StallPolicy, vehicle_ids: Sequence[int]) -> None:
        """Do what the policy says about vehicles that were given up on, after this step."""
        if policy is StallPolicy.DROP:
            self._boundary.later(lambda: self._drop(vehicle_ids))
        elif policy is StallPolicy.FREE_RUN:
            self._boundary.later(lambda: self._loop.fall_back("A vehicle stalled."))

    def _drop(self, vehicle_ids: Sequence[int]) -> None:
        for vehicle_id in vehicle_ids:
            if vehicle_id in self._fleet:
                self._despawn(vehicle_id)
                text = f"Vehicle {vehicle_id} was removed because it stalled."
                self._stepper.report("drop", text, vehicle_id=vehicle_id)


def _default_platform() -> Callable[..., Platform]:
    """The class of the kit's own platform, imported when it is first needed."""
    module, _, name = DEFAULT_PLATFORM.partition(":")
    platform: Callable[..., Platform] = getattr(importlib.import_module(module), name)
    return platform
