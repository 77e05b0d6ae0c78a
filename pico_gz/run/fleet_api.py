"""Fleet: a run in a Python program, in simulation time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast, runtime_checkable

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import LocalFrame, quat_from_euler
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.units import us_from_seconds
from pico_gz.errors import ConfigError, SimulationTimeoutError, UnknownVehicleError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.fleet_text import fleet_from_keywords
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.history import History
from pico_gz.run.joining import join, leave
from pico_gz.run.options import RunOptions
from pico_gz.run.rover_handle import RoverHandle

T = TypeVar("T")
Invariant = Callable[["Fleet"], None]


@runtime_checkable
class Reseeds(Protocol):
    """A simulator that can draw from another seed."""

    def reseed(self, seed: int) -> None:
        """Draw from this seed from here on."""


class Agenda:
    """Calls that are due at a simulated time, before the step."""

    def __init__(self) -> None:
        self._due: list[tuple[int, Callable[[], object]]] = []

    def add(self, time_us: int, action: Callable[[], object]) -> None:
        """Call ``action()`` then; those of one time in the order in which they came."""
        self._due.append((time_us, action))
        self._due.sort(key=lambda entry: entry[0])

    def __call__(self, now_us: int) -> None:
        """Do what is due."""
        while self._due and self._due[0][0] <= now_us:
            _, action = self._due.pop(0)
            action()


class Fleet:
    """A fleet that runs in this program. Time stands still except in ``run`` and ``wait_until``.

    Use it in a ``with`` block; in pytest, let the fixture ``sitl`` make and close it. Simulated
    time passes as fast as it can unless ``speed`` says otherwise.

    Args:
        fleet: a fleet file, or a fleet that was loaded; ``None``: one from the keywords.
        options: what the fleet file does not hold; default: no ground link, no recording.
        speed: simulated seconds per second; ``None``: as fast as possible.
        **tables: keys of ``[fleet]`` (``rovers=2``, ``autopilot=StopAtWall``), tables
            (``rover={"noise": "off"}``) and lists of tables (``obstacle=[{...}]``).

    Attributes:
        session: the run behind it.
        history: what every vehicle has done so far.
    """

    def __init__(
        self,
        fleet: str | Path | FleetConfig | None = None,
        options: RunOptions | None = None,
        *,
        speed: float | None = None,
        **tables: Any,
    ) -> None:
        config = _config(fleet, speed, tables)
        self.session = FleetRun(config, options or _QUIET)
        self._seed = config.seed
        self._agenda = Agenda()
        self._invariants: list[Invariant] = []
        self._rovers: dict[int, RoverHandle] = {}

    def __enter__(self) -> Self:
        self.session.__enter__()
        self.history = History(self.bridge)
        self.bridge.before_step.add(self._agenda)
        self._rovers = {i: RoverHandle(self, i) for i in self.bridge.list_vehicles()}
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run and close its files; harmless when called twice."""
        self.session.__exit__(None, None, None)

    def __getitem__(self, vehicle_id: int) -> RoverHandle:
        if vehicle_id not in self._rovers:
            raise UnknownVehicleError(vehicle_id, self._rovers)
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
    def config(self) -> FleetConfig:
        """What it is made of."""
        return self.session.fleet

    @property
    def frame(self) -> LocalFrame:
        """The fleet's geodetic origin."""
        return self.session.frame

    @property
    def seed(self) -> int:
        """Start of all random numbers."""
        return self._seed

    @property
    def time_s(self) -> float:
        """Simulated time since the start [s]."""
        return self.bridge.view.time_us / 1e6

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
        condition: Callable[[Fleet], T],
        *,
        timeout_sim_s: float = 60.0,
        every_sim_s: float = 0.0,
        what: str = "",
    ) -> T:
        """Let time pass until ``condition(fleet)`` is true; returns what it returned.

        Args:
            condition: looked at now and after every step.
            timeout_sim_s: how much simulated time it may take.
            every_sim_s: look only this often.
            what: words for the failure.

        Raises:
            SimulationTimeoutError: it was not so in time.
        """
        __tracebackhide__ = True
        value = condition(self)
        next_us = 0

        def look(view: FleetView) -> bool:
            nonlocal next_us, value
            if view.time_us >= next_us:
                next_us = view.time_us + us_from_seconds(every_sim_s)
                value = condition(self)
            return bool(value)

        if not value:
            self._run(timeout_sim_s, look)
        if not value:
            raise SimulationTimeoutError(
                f"{what or 'The condition was not met'} within {timeout_sim_s:g} s of simulated"
                f" time; at {self.time_s:.2f} s:\n" + "\n".join(f"  {rover!r}" for rover in self)
            )
        return value

    def check_every_step(self, invariant: Invariant) -> None:
        """Call ``invariant(fleet)`` after every step from now on; what it raises ends the test."""
        self._invariants.append(invariant)

    def at(self, time_s: float, action: Callable[[], object]) -> None:
        """Call ``action()`` before the first step at or after a simulated time.

        Raises:
            ConfigError: that time is over.
        """
        time_us = us_from_seconds(time_s)
        if time_us < self.bridge.view.time_us:
            raise ConfigError(f"It is {self.time_s:g} s already; {time_s:g} s is over.")
        self._agenda.add(time_us, action)

    # --- the fleet ------------------------------------------------------------------------

    def arm(self) -> None:
        """Arm every rover that takes commands, as soon as its arming checks pass."""
        __tracebackhide__ = True
        for rover in self:
            if rover.id in self.session.pilots.commanded:
                rover.arm()

    def spawn(self, **keys: Any) -> RoverHandle:
        """Put another vehicle into the fleet, now.

        Args:
            **keys: as in a ``[[vehicle]]`` table: id, name, adapter, autopilot (also a class),
                preset, noise, north_m, east_m, yaw_deg, mission, params.

        Raises:
            ConfigError: it cannot be; the fleet is as it was.
        """
        vehicle_id = join(self.session, keys)
        rover = self._rovers[vehicle_id] = RoverHandle(self, vehicle_id)
        self._rovers = dict(sorted(self._rovers.items()))
        return rover

    def despawn(self, vehicle_id: int) -> None:
        """Take a vehicle out of the fleet; its id can be used again."""
        leave(self.session, vehicle_id)
        del self._rovers[vehicle_id]

    def reseed(self, seed: int) -> None:
        """Draw from another seed from here on; what was drawn so far stays.

        Raises:
            ConfigError: a simulator cannot.
        """
        adapters = [self.bridge.get_adapter(name) for name in self.bridge.list_adapters()]
        for adapter in adapters:
            if not isinstance(adapter, Reseeds):
                raise ConfigError(f"The simulator {adapter.name!r} cannot be seeded again.")
        for adapter in adapters:
            self.bridge.at_step_boundary(partial(cast(Reseeds, adapter).reseed, seed))
        self._seed = seed

    def start_truth(self, vehicle_id: int) -> VehicleTruth:
        """Where a vehicle starts, by the fleet file."""
        pose = self.config.vehicle(vehicle_id).config.pose
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


_QUIET = RunOptions(mavlink=False, control=False, check_ports=False)


def _config(
    fleet: str | Path | FleetConfig | None, speed: float | None, tables: dict[str, Any]
) -> FleetConfig:
    if isinstance(fleet, FleetConfig):
        if tables:
            raise ConfigError("Give a fleet, or keywords, not both.")
        return fleet
    config = fleet_from_keywords(fleet, tables)
    pace: Any = "max" if speed is None else speed
    return dataclasses.replace(config, time=dataclasses.replace(config.time, speed=pace))
