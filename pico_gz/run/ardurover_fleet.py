"""ArduRovers of a run: started, watched, started again, ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ports import PortPlan
from pico_gz.errors import LaunchError
from pico_gz.run.ardurover_pilot import ArduRoverPilot
from pico_gz.run.commands import report_event
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.external_setup import ardurover_plans, mission_address
from pico_gz.run.missions import items_time_s
from pico_gz.run.options import RunOptions, Show
from pico_gz.run.vehicle_setup import demo_square
from pico_gz.vehicle.autopilot.mission_files import ItemLists, read_item_lists
from pico_gz.vehicle.external.connection import Arrival
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.vehicle.external.program import ArduRoverStart, AutopilotProcess, rover_parameters

CONNECT_S = 30.0
# Simulated time until an ArduRover has its EKF and may arm.
START_S = 60.0
_LOOK_S = 0.1
_CONNECTED = Arrival.CONNECTED.value


class ArduRoverFleet:
    """Runs one ArduRover per vehicle for as long as it is open.

    Time stands still until all of them have connected. One that ends by itself is started again,
    by a thread: the run may be waiting for it.

    Args:
        bridge: the run.
        server: serves them.
        starts: vehicle id -> how its ArduRover is started.
        pilots: vehicle id -> its ground station.
        restarts: how often each may be started again.
        paused: the run stays paused when all have connected.
        show: takes what they print; ``None``: it goes to their log files only.
    """

    def __init__(
        self,
        bridge: SitlBridge,
        server: FdmServer,
        starts: Mapping[int, ArduRoverStart],
        pilots: Mapping[int, ArduRoverPilot],
        *,
        restarts: int,
        paused: bool = False,
        show: Show | None = None,
    ) -> None:
        self.pilots = pilots
        self._bridge = bridge
        self._server = server
        self._starts = starts
        self._restarts = restarts
        self._paused = paused
        self._show = show
        self._processes: dict[int, AutopilotProcess] = {}
        self._left = dict.fromkeys(starts, restarts)
        self._connected: set[int] = set()
        self._waits = True
        self._limit_s = 0.0
        self._changing = threading.Lock()
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="ardurovers", daemon=True)

    def open(self) -> None:
        """Start them all.

        Raises:
            MissingProgramError: a program is not there.
        """
        bridge = self._bridge
        bridge.events.listen(self._note)
        for vehicle_id, pilot in self.pilots.items():
            bridge.get_vehicle(vehicle_id).external_status = pilot.status
        try:
            for vehicle_id in self._starts:
                self._start(vehicle_id, wipe=self._starts[vehicle_id].wipe)
        except BaseException:
            self.close()
            raise
        bridge.before_step.add(self)
        bridge.while_idle.add(self)
        bridge.pause()
        self._limit_s = time.monotonic() + CONNECT_S
        self._watcher.start()

    def __call__(self, now_us: int) -> None:
        """Talk to all of them, and let time pass once they are here."""
        for pilot in self.pilots.values():
            pilot(now_us)
        if self._waits:
            self._wait_for_connections()

    def waiting(self) -> frozenset[int]:
        """Those whose mission has not started yet."""
        return frozenset(i for i, pilot in self.pilots.items() if not pilot.started)

    def restart(self) -> None:
        """Start all of them again, as after power-on; each drives its mission from the start."""
        with self._changing:
            self._end(dict(self._processes))
            for vehicle_id in self._processes:
                self._server.forget(vehicle_id)
                self.pilots[vehicle_id].start_over()
                self._start(vehicle_id, wipe=False)

    def close(self) -> None:
        """End them all; the server that they talk to must still be open."""
        self._closed.set()
        with self._changing:
            self._end(self._processes)
            self._processes = {}
        for pilot in self.pilots.values():
            pilot.close()

    # --- processes --------------------------------------------------------------------------

    def _start(self, vehicle_id: int, *, wipe: bool) -> None:
        start = msgspec.structs.replace(self._starts[vehicle_id], wipe=wipe)
        label, show = self.pilots[vehicle_id].label, self._show
        process = AutopilotProcess(
            start.command(),
            Path(start.run_dir),
            None if show is None else lambda line: show(label, line),
        )
        self._processes[vehicle_id] = process.start()

    @staticmethod
    def _end(processes: Mapping[int, AutopilotProcess]) -> None:
        """End them side by side: each may take a second."""
        if processes:
            with ThreadPoolExecutor(max_workers=len(processes)) as pool:
                list(pool.map(AutopilotProcess.stop, processes.values()))

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK_S):
            with self._changing:
                ended = {i: p for i, p in self._processes.items() if p.exit_code is not None}
                for vehicle_id, process in ended.items():
                    if not self._closed.is_set():
                        self._replace(vehicle_id, process)

    def _replace(self, vehicle_id: int, process: AutopilotProcess) -> None:
        """Start one that has ended again, or give it up."""
        label, code = self.pilots[vehicle_id].label, process.exit_code
        process.stop()
        del self._processes[vehicle_id]
        self._server.forget(vehicle_id)
        if not self._left[vehicle_id]:
            said = " / ".join(line for line in process.last_lines()[-3:] if line)
            self._give_up(vehicle_id, f"its ArduRover ended with code {code}: {said or 'silent'}")
            return
        self._left[vehicle_id] -= 1
        text = f"{label}: its ArduRover ended with code {code} and is started again."
        report_event(self._bridge, "restarted", text, vehicle_id, severity=4)
        try:
            self._start(vehicle_id, wipe=False)
        except (LaunchError, OSError) as error:
            self._give_up(vehicle_id, f"its ArduRover does not start again: {error}")

    def _give_up(self, vehicle_id: int, why: str) -> None:
        report_event(self._bridge, "failed", why, vehicle_id, severity=3)
        if self._waits:
            self._bridge.stop()

    # --- the run ----------------------------------------------------------------------------

    def _note(self, event: BridgeEvent) -> None:
        if event.kind == _CONNECTED:
            self._connected.add(event.vehicle_id)
        elif event.kind == "reset":
            self.restart()

    def _wait_for_connections(self) -> None:
        missing = self._starts.keys() - self._connected
        if missing and time.monotonic() < self._limit_s:
            return
        self._waits = False
        if missing:
            for vehicle_id in sorted(missing):
                self._give_up(vehicle_id, f"its ArduRover is silent for {CONNECT_S:g} s")
            self._bridge.stop()
        elif not self._paused:
            self._bridge.resume()


def make_ardurovers(
    fleet: FleetConfig,
    bridge: SitlBridge,
    server: FdmServer,
    ports: PortPlan,
    starts: Mapping[int, ArduRoverStart],
    missions: Mapping[int, ItemLists],
    options: RunOptions,
) -> ArduRoverFleet:
    """The ArduRovers of a run with their ground stations; ``missions`` by vehicle id."""

    def pilot(plan: VehiclePlan) -> ArduRoverPilot:
        def report(text: str, severity: int) -> None:
            report_event(bridge, "mission", text, plan.id, severity=severity)

        address = mission_address(fleet, ports, plan)
        return ArduRoverPilot(plan.id, plan.config.label, address, missions.get(plan.id), report)

    return ArduRoverFleet(
        bridge,
        server,
        starts,
        {plan.id: pilot(plan) for plan in ardurover_plans(fleet)},
        restarts=fleet.ardurover.restarts,
        paused=options.paused,
        show=options.show,
    )


def ardurover_missions(
    fleet: FleetConfig,
    frame: LocalFrame,
    move: Callable[[VehiclePlan, ItemLists], ItemLists],
    *,
    demo: bool,
) -> dict[int, ItemLists]:
    """Vehicle id -> what it is to drive; with ``demo`` a square for those without a mission."""
    found = {}
    for plan in ardurover_plans(fleet):
        if plan.mission is not None:
            found[plan.id] = move(plan, read_item_lists(plan.mission))
        elif demo:
            found[plan.id] = ItemLists(tuple(demo_square(plan.config.pose, frame)))
    return found


def expected_s(
    fleet: FleetConfig, frame: LocalFrame, missions: Mapping[int, ItemLists]
) -> dict[int, float]:
    """Vehicle id -> how long its mission takes at cruise speed, with the start of its EKF [s]."""
    return {
        plan.id: START_S
        + items_time_s(
            missions[plan.id].mission,
            frame,
            plan.config.pose,
            rover_parameters(plan.rover, plan.config)["WP_SPEED"],
        )
        for plan in ardurover_plans(fleet)
        if plan.id in missions
    }
