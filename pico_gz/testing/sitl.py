"""A fleet in a test, driven by simulation time alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.core.frames import LocalFrame, quat_from_euler
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.units import us_from_seconds
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.testing.rover_handle import RoverHandle


class SimulationTimeoutError(AssertionError):
    """Something did not happen within its simulated time; the test failed."""


class History:
    """An observer that keeps every step's truth, every change of mode and every contact.

    Attributes:
        truth: vehicle id -> where it was, step by step.
        modes: vehicle id -> (time [us], mode) whenever the mode changed.
        contacts: everything that was touched.
    """

    def __init__(self, bridge: SitlBridge) -> None:
        self.truth: dict[int, list[VehicleTruth]] = {i: [] for i in bridge.list_vehicles()}
        self.modes: dict[int, list[tuple[int, str]]] = {i: [] for i in bridge.list_vehicles()}
        self.contacts: list[BridgeEvent] = []
        self._bridge = bridge
        bridge.after_step.add(self)
        bridge.events.listen(self._note_event)

    def __call__(self, view: FleetView) -> None:
        """Keep one step."""
        for vehicle_id, truth in view.truth.items():
            self.truth.setdefault(vehicle_id, []).append(truth)
        for vehicle in self._bridge.vehicles():
            mode = vehicle.status().mode
            changes = self.modes.setdefault(vehicle.id, [])
            if not changes or changes[-1][1] != mode:
                changes.append((view.time_us, mode))

    def _note_event(self, event: BridgeEvent) -> None:
        if event.kind == "contact":
            self.contacts.append(event)


Invariant = Callable[["Sitl"], None]


class Sitl:
    """A running fleet. Time stands still except in ``run`` and ``wait_until``.

    Use it in a ``with`` block, or let the fixture ``sitl`` make and close it.

    Attributes:
        session: the run behind it.
        history: what every vehicle has done so far.
    """

    def __init__(self, fleet: FleetConfig, options: RunOptions | None = None) -> None:
        self.session = FleetRun(fleet, options)
        self._invariants: list[Invariant] = []
        self._rovers: dict[int, RoverHandle] = {}

    def __enter__(self) -> Sitl:
        self.session.__enter__()
        self.history = History(self.bridge)
        self._rovers = {i: RoverHandle(self, i) for i in self.bridge.list_vehicles()}
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run and close its files; harmless when called twice."""
        self.session.__exit__(None, None, None)

    def __getitem__(self, vehicle_id: int) -> RoverHandle:
        return self._rovers[vehicle_id]

    def __iter__(self) -> Iterator[RoverHandle]:
        return iter(self._rovers.values())

    def __len__(self) -> int:
        return len(self._rovers)

    @property
    def rovers(self) -> list[RoverHandle]:
        """All rovers, in id order."""
        return list(self._rovers.values())

    @property
    def bridge(self) -> SitlBridge:
        """Adapters, vehicles and clock."""
        return self.session.bridge

    @property
    def fleet(self) -> FleetConfig:
        """What it was made from."""
        return self.session.fleet

    @property
    def frame(self) -> LocalFrame:
        """The fleet's geodetic origin."""
        return self.session.frame

    @property
    def seed(self) -> int:
        """Start of all random numbers."""
        return self.fleet.seed

    @property
    def time_s(self) -> float:
        """Simulated time since the start [s]."""
        return self.bridge.sim_time_us() / 1e6

    @property
    def recording(self) -> Path | None:
        """The folder of its recording."""
        path = self.session.result().recording
        return None if path is None else Path(path)

    def run(self, sim_s: float) -> None:
        """Let simulated time pass."""
        __tracebackhide__ = True
        self._run(sim_s, None)

    def wait_until(
        self,
        condition: Callable[[Sitl], bool],
        *,
        timeout_sim_s: float = 60.0,
        every_sim_s: float = 0.0,
        what: str = "",
    ) -> None:
        """Let time pass until ``condition(sitl)``.

        Args:
            condition: looked at now and after every step.
            timeout_sim_s: how much simulated time it may take.
            every_sim_s: look only this often.
            what: words for the failure.

        Raises:
            SimulationTimeoutError: it was not so in time.
        """
        __tracebackhide__ = True
        if condition(self):
            return
        next_us = 0
        met = False

        def look(view: FleetView) -> bool:
            nonlocal next_us, met
            if view.time_us >= next_us:
                next_us = view.time_us + us_from_seconds(every_sim_s)
                met = condition(self)
            return met

        self._run(timeout_sim_s, look)
        if not met:
            raise SimulationTimeoutError(
                f"{what or 'The condition was not met'} within {timeout_sim_s:g} s of simulated"
                f" time; at {self.time_s:.2f} s:\n" + "\n".join(f"  {rover!r}" for rover in self)
            )

    def check_every_step(self, invariant: Invariant) -> None:
        """Call ``invariant(sitl)`` after every step from now on; what it raises ends the test."""
        self._invariants.append(invariant)

    def start_truth(self, vehicle_id: int) -> VehicleTruth:
        """Where a vehicle starts, by the fleet file."""
        pose = self.fleet.vehicle(vehicle_id).config.pose
        return VehicleTruth(
            timestamp_us=0,
            vehicle_id=vehicle_id,
            north_m=pose.north_m,
            east_m=pose.east_m,
            down_m=0.0,
            quat_wxyz=quat_from_euler(0.0, 0.0, math.radians(pose.yaw_deg)),
        )

    def _run(self, sim_s: float, until: Callable[[FleetView], bool] | None) -> None:
        __tracebackhide__ = True

        def look(view: FleetView) -> bool:
            for invariant in self._invariants:
                invariant(self)
            return until is not None and until(view)

        self.bridge.run(us_from_seconds(sim_s), until=look)
