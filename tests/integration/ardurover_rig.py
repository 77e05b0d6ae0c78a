"""Real ArduRovers on the Lightweight simulator, with a ground station for each."""

import math
import time
from collections.abc import Callable
from pathlib import Path

from external_programs import need_ardurover
from pymavlink import mavutil

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.bridge.stall import StallPolicy, StallRules
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ports import PortRules
from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.vehicle.external.program import (
    PARAMETER_FILE,
    ArduRoverStart,
    AutopilotProcess,
    parameter_file,
)

HOME = LocalFrame(35.681236, 139.767125, 40.0)
STEP_US = 10_000
# Far from vehicle 1, so that a fleet on the default ports does not disturb.
FIRST_ID = 61
MODES = {"AUTO": 10, "RTL": 11, "GUIDED": 15}
EKF_READY = 1 | 2 | 16  # attitude, horizontal velocity, absolute horizontal position
AUTOPILOT, GROUND = 1, 255


def ground_port(vehicle_id: int) -> int:
    return 15_000 + vehicle_id


class Ground:
    """A ground station for one vehicle; never blocks."""

    def __init__(self, vehicle_id: int) -> None:
        self.vehicle_id = vehicle_id
        self.link = mavutil.mavlink_connection(
            f"udpin:127.0.0.1:{ground_port(vehicle_id)}", source_system=GROUND
        )
        self.ekf_flags = 0
        self.mode = -1
        self.armed = False
        self.reached: list[int] = []
        self.texts: list[str] = []
        self.acks: dict[int, int] = {}
        self.mission: list[tuple[float, float]] = []
        self.mission_accepted = False
        self.heartbeats = 0
        self.parameters: dict[str, float] = {}
        self.parameter_count = 0

    def poll(self) -> None:
        """Read what has arrived and answer what must be answered."""
        while (message := self.link.recv_match(blocking=False)) is not None:
            handler = getattr(self, f"_on_{message.get_type().lower()}", None)
            if handler is not None and message.get_srcSystem() == self.vehicle_id:
                handler(message)

    def _on_heartbeat(self, message) -> None:  # type: ignore[no-untyped-def]
        self.heartbeats += 1
        self.mode = message.custom_mode
        self.armed = bool(message.base_mode & 128)
        if self.heartbeats % 20 == 1:
            self.link.mav.request_data_stream_send(self.vehicle_id, AUTOPILOT, 0, 4, 1)
        self.link.mav.heartbeat_send(6, 8, 0, 0, 0)

    def _on_ekf_status_report(self, message) -> None:  # type: ignore[no-untyped-def]
        self.ekf_flags = message.flags

    def _on_statustext(self, message) -> None:  # type: ignore[no-untyped-def]
        self.texts.append(message.text)

    def _on_command_ack(self, message) -> None:  # type: ignore[no-untyped-def]
        self.acks[message.command] = message.result

    def _on_mission_item_reached(self, message) -> None:  # type: ignore[no-untyped-def]
        self.reached.append(message.seq)

    def _on_mission_ack(self, message) -> None:  # type: ignore[no-untyped-def]
        self.mission_accepted = message.type == 0

    def _on_param_value(self, message) -> None:  # type: ignore[no-untyped-def]
        self.parameters[message.param_id] = message.param_value
        self.parameter_count = message.param_count

    def _on_mission_request(self, message) -> None:  # type: ignore[no-untyped-def]
        self._send_item(message.seq)

    def _on_mission_request_int(self, message) -> None:  # type: ignore[no-untyped-def]
        self._send_item(message.seq)

    def _send_item(self, seq: int) -> None:
        north, east = self.mission[seq]
        lat, lon, _ = HOME.geodetic_from_ned(north, east, 0.0)
        self.link.mav.mission_item_int_send(
            self.vehicle_id, AUTOPILOT, seq, 3, 16, 0, 1, 0, 0, 0, 0,
            round(lat * 1e7), round(lon * 1e7), 0.0,
        )  # fmt: skip

    def upload(self, waypoints: list[tuple[float, float]]) -> None:
        """Start to send a mission; item 0 is home."""
        self.mission = [(0.0, 0.0), *waypoints]
        self.mission_accepted = False
        self.link.mav.mission_count_send(self.vehicle_id, AUTOPILOT, len(self.mission))

    def set_mode(self, name: str) -> None:
        self.link.mav.command_long_send(
            self.vehicle_id, AUTOPILOT, 176, 0, 1, MODES[name], 0, 0, 0, 0, 0
        )

    def arm(self) -> None:
        self.link.mav.command_long_send(self.vehicle_id, AUTOPILOT, 400, 0, 1, 0, 0, 0, 0, 0, 0)

    def close(self) -> None:
        self.link.close()


class ArduRoverRig:
    """A bridge with Lightweight rovers of one preset, each driven by a real ArduRover."""

    def __init__(
        self,
        folder: Path,
        preset: str,
        *,
        count: int = 1,
        step_us: int = STEP_US,
        speedup: float = 100.0,
    ) -> None:
        self.folder = folder
        self.spec = PRESETS[preset]
        self.ids = range(FIRST_ID, FIRST_ID + count)
        self.step_us = step_us
        self.speedup = speedup
        self.binary = need_ardurover()
        self.autopilots: dict[int, AutopilotProcess] = {}
        self.grounds = {i: Ground(i) for i in self.ids}
        self.path: dict[int, list[tuple[float, float]]] = {i: [] for i in self.ids}
        self.start_kit()

    # --- both sides -----------------------------------------------------------------------

    def start_kit(self) -> None:
        """Start the simulator and the server."""
        self.server = FdmServer(
            [
                ExternalVehicle(
                    vehicle_id=i,
                    fdm_port=PortRules().fdm_port(i),
                    drive=self.spec.drive,
                    channels=self.spec.channels,
                )
                for i in self.ids
            ]
        )
        self.bridge = SitlBridge(
            Lockstep(self.step_us),
            stall=StallRules(timeout_ms=20_000, policy=StallPolicy.ABORT),
        )
        self.bridge.register_adapter(LightweightAdapter(seed=1))
        for n, i in enumerate(self.ids):
            config = VehicleConfig(
                id=i,
                autopilot="external",
                preset=self.spec.preset,
                channels=self.spec.channels,
                pose=Pose(east_m=30.0 * n),
            )
            self.bridge.spawn_vehicle(config, drive=self.spec.drive, external=True)
        self.bridge.add_autopilots(self.server)

    def stop_kit(self) -> None:
        """End the simulator and the server, as a kill would."""
        self.server.close()

    def start_autopilot(self, vehicle_id: int) -> None:
        """Start one ArduRover with the line that the kit prints."""
        run_dir = self.folder / f"rover_{vehicle_id}"
        run_dir.mkdir(parents=True, exist_ok=True)
        (run_dir / PARAMETER_FILE).write_text(parameter_file(self.spec))
        start = ArduRoverStart(
            vehicle_id=vehicle_id,
            fdm_port=PortRules().fdm_port(vehicle_id),
            home=HOME,
            gcs_port=ground_port(vehicle_id),
            speedup=self.speedup,
            program=self.binary,
        )
        self.autopilots[vehicle_id] = AutopilotProcess(start.command(), run_dir).start()

    def start_autopilots(self) -> None:
        for vehicle_id in self.ids:
            self.start_autopilot(vehicle_id)
        self.wait_for_connections()

    def wait_for_connections(self) -> None:
        deadline_s = time.monotonic() + 30.0
        while not all(map(self.server.is_connected, self.ids)):
            assert time.monotonic() < deadline_s, "an ArduRover did not connect"
            self.server.service()
            time.sleep(0.01)

    def close(self) -> None:
        """End the autopilots first: without a server they do not listen to signals."""
        for autopilot in self.autopilots.values():
            autopilot.stop()
        self.server.close()
        for ground in self.grounds.values():
            ground.close()

    # --- running --------------------------------------------------------------------------

    def run_until(self, done: Callable[[], bool], sim_s: float, what: str) -> None:
        """Step until ``done``, for at most ``sim_s`` of simulation time."""
        end_us = self.bridge.view.time_us + int(sim_s * 1e6)
        while not done():
            assert self.bridge.view.time_us < end_us, f"{what}: {self.tell()}"
            self.run_steps(10)

    def run_steps(self, steps: int) -> None:
        for _ in range(steps):
            self.bridge.step(1)
            for i, truth in self.bridge.view.truth.items():
                self.path[i].append((truth.north_m, truth.east_m))
        for ground in self.grounds.values():
            ground.poll()
        for autopilot in self.autopilots.values():
            autopilot.require_running()

    def tell(self) -> str:
        parts = [
            f"{i}: {ground.texts[-8:]} mode {ground.mode}" for i, ground in self.grounds.items()
        ]
        return f"t = {self.bridge.view.time_us / 1e6:.1f} s; " + "; ".join(parts)

    # --- what a pilot does ----------------------------------------------------------------

    def wait_for_ekf(self, sim_s: float = 180.0) -> None:
        self.run_until(
            lambda: all(g.ekf_flags & EKF_READY == EKF_READY for g in self.grounds.values()),
            sim_s,
            "EKF not healthy",
        )

    def fly_mission(self, missions: dict[int, list[tuple[float, float]]]) -> None:
        """Upload, arm and switch to AUTO on every vehicle."""
        for i, ground in self.grounds.items():
            ground.upload(missions[i])
        accepted = lambda: all(g.mission_accepted for g in self.grounds.values())  # noqa: E731
        self.run_until(accepted, 30.0, "mission not accepted")
        self._insist(lambda g: g.set_mode("GUIDED"), lambda g: g.mode == MODES["GUIDED"], "GUIDED")
        self._insist(lambda g: g.arm(), lambda g: g.armed, "arming")
        self._insist(lambda g: g.set_mode("AUTO"), lambda g: g.mode == MODES["AUTO"], "AUTO")

    def return_home(self) -> None:
        self._insist(lambda g: g.set_mode("RTL"), lambda g: g.mode == MODES["RTL"], "RTL")

    def _insist(
        self, act: Callable[[Ground], None], seen: Callable[[Ground], bool], what: str
    ) -> None:
        """Ask again every two seconds until it is done."""
        for _ in range(40):
            waiting = [g for g in self.grounds.values() if not seen(g)]
            if not waiting:
                return
            for ground in waiting:
                act(ground)
            self.run_steps(2_000_000 // self.step_us)
        raise AssertionError(f"{what} refused: {self.tell()}")

    def nearest_m(self, vehicle_id: int, point: tuple[float, float]) -> float:
        """How near the true path came to a point."""
        return min(math.dist(point, position) for position in self.path[vehicle_id])

    def position(self, vehicle_id: int) -> tuple[float, float]:
        truth = self.bridge.view.truth[vehicle_id]
        return truth.north_m, truth.east_m
