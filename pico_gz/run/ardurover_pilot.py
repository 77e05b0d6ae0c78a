"""The ground station of one ArduRover: mission, arming, start, status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.ground_control import Mode, StatusText
from pico_gz.mavlink.codec import mav
from pico_gz.run.autopilot_link import AUTOPILOT_COMPONENT, AutopilotLink
from pico_gz.run.external_missions import MissionUpload, Report
from pico_gz.vehicle.autopilot.mission_files import ItemLists

_ARMED: Final = 128  # MAV_MODE_FLAG_SAFETY_ARMED
_EKF_READY: Final = 1 | 2 | 16  # attitude, horizontal velocity, absolute horizontal position
_PREARM_CHECK: Final = 1 << 28  # MAV_SYS_STATUS_PREARM_CHECK
_MISSION_COMPLETE: Final = 5  # MISSION_STATE_COMPLETE
_SET_MODE, _ARM, _SET_INTERVAL, _SEND_BANNER = 176, 400, 511, 42428
# What is asked for, in Hz of simulated time; heartbeats and texts come by themselves.
_RATES_HZ: Mapping[int, int] = {1: 2, 30: 10, 32: 10, 42: 2, 193: 2}
_ASK_EVERY_US: Final = 1_000_000
# Arming is tried so often although checks fail: the refusal says which one.
_TRY_ALOUD_US: Final = 15_000_000


class ArduRoverPilot:
    """Talks to one ArduRover that the kit has started; called between steps, never waits.

    With a mission it uploads it, waits for the EKF and the arming checks, arms, and enters AUTO,
    once: a ground station that changes the mode later is not contradicted.

    Args:
        vehicle_id: its MAVLink system id.
        label: its name, for messages.
        address: host and TCP port where it takes a ground station.
        lists: what to upload; ``None`` leaves it disarmed.
        report: takes a sentence for people and its severity.

    Attributes:
        started: whether its mission runs, or did.
        estimate: what its EKF says: time [s], north, east [m] from home, yaw [rad].
    """

    def __init__(
        self,
        vehicle_id: int,
        label: str,
        address: tuple[str, int],
        lists: ItemLists | None,
        report: Report,
    ) -> None:
        self.vehicle_id = vehicle_id
        self.label = label
        self.estimate: tuple[float, float, float, float] | None = None
        self._link = AutopilotLink(vehicle_id, address, retry_s=0.1)
        self._lists = lists
        self._report = report
        self._listeners: list[Callable[[StatusText], None]] = []
        self._handlers: dict[str, Callable[[Any], None]] = {
            "HEARTBEAT": self._on_heartbeat,
            "SYS_STATUS": self._on_sys_status,
            "EKF_STATUS_REPORT": self._on_ekf,
            "MISSION_CURRENT": self._on_mission_current,
            "STATUSTEXT": self._on_text,
            "ATTITUDE": self._on_attitude,
            "LOCAL_POSITION_NED": self._on_position,
        }
        self._done = False
        self._last_message = ""
        self._forget()

    def _forget(self) -> None:
        """What holds for an autopilot that has just started."""
        self._connections = self._link.connections
        self._mode = ""
        self._armed = self._ekf_ready = self._may_arm = self.started = False
        self._asked_banner = False
        self._waypoint = -1
        self._yaw_rad = 0.0
        self._heard: set[str] = set()
        self._chunks: dict[int, str] = {}
        self._next_ask_us = self._next_aloud_us = 0
        self._upload = MissionUpload(
            self.vehicle_id,
            self.label,
            self._link.address,
            self._lists or ItemLists(()),
            self._report,
            link=self._link,
        )

    def status(self) -> AutopilotStatus:
        """How it is, by its own messages."""
        return AutopilotStatus(
            mode=self._mode or "STARTING",
            armed=self._armed,
            waypoint=self._waypoint,
            last_message=self._last_message,
            done=self._done,
        )

    def listen(self, listener: Callable[[StatusText], None]) -> None:
        """Pass on what it says."""
        self._listeners.append(listener)

    def start_over(self) -> None:
        """It has been started again, and is to drive its mission from the beginning."""
        self._done = False
        self._link.close()

    def __call__(self, now_us: int) -> None:
        """Take what has arrived and ask for what comes next."""
        messages = self._link.poll()
        if self._link.connections != self._connections:
            self._forget()
        for message in messages:
            handler = self._handlers.get(message.get_type())
            if handler is not None:
                handler(message)
                self._heard.add(message.get_type())
            self._upload.take(message)
        self._upload.repeat()
        # Time may also go back.
        if self._mode and not 0 < self._next_ask_us - now_us <= _ASK_EVERY_US:
            self._next_ask_us = now_us + _ASK_EVERY_US
            self._ask(now_us)

    def close(self) -> None:
        """End the link."""
        self._link.close()

    # --- what it is asked for ---------------------------------------------------------------

    def _ask(self, now_us: int) -> None:
        if self._handlers.keys() - self._heard - {"STATUSTEXT"}:
            for message_id, rate_hz in _RATES_HZ.items():
                self._command(_SET_INTERVAL, message_id, 1e6 / rate_hz)
        if not self._asked_banner:
            self._asked_banner = True
            self._command(_SEND_BANNER)  # who it is was said before the link was there
        if self._lists is None or self.started or self._done:
            return
        if not self._upload.is_done() or self._upload.refused or not self._ekf_ready:
            return
        if self._armed:
            self._command(_SET_MODE, 1, Mode.AUTO)
        elif self._may_arm or now_us >= self._next_aloud_us:
            self._next_aloud_us = now_us + _TRY_ALOUD_US
            self._command(_ARM, 1)

    def _command(self, number: int, *values: float) -> None:
        padded = [*values, *[0.0] * (7 - len(values))]
        self._link.send(
            mav.MAVLink_command_long_message(
                self.vehicle_id, AUTOPILOT_COMPONENT, number, 0, *padded
            )
        )

    # --- what it says -----------------------------------------------------------------------

    def _on_heartbeat(self, message: Any) -> None:
        number = message.custom_mode
        self._mode = Mode(number).name if number in Mode.__members__.values() else str(number)
        self._armed = bool(message.base_mode & _ARMED)
        if self._armed and self._mode == Mode.AUTO.name and self._upload.is_done():
            self.started = True

    def _on_sys_status(self, message: Any) -> None:
        self._may_arm = bool(message.onboard_control_sensors_health & _PREARM_CHECK)

    def _on_ekf(self, message: Any) -> None:
        self._ekf_ready = message.flags & _EKF_READY == _EKF_READY

    def _on_mission_current(self, message: Any) -> None:
        has_mission = self._lists is not None and self._upload.is_done()
        self._waypoint = message.seq if has_mission and self.started else -1
        if self.started and message.mission_state == _MISSION_COMPLETE:
            self._done = True

    def _on_attitude(self, message: Any) -> None:
        self._yaw_rad = message.yaw

    def _on_position(self, message: Any) -> None:
        self.estimate = (message.time_boot_ms / 1e3, message.x, message.y, self._yaw_rad)

    def _on_text(self, message: Any) -> None:
        """Long texts come in parts of 50 characters; the last one is shorter."""
        text = message.text.split("\0")[0]
        if message.id:
            text = self._chunks.pop(message.id, "") + text
            if len(message.text) == 50 and "\0" not in message.text:
                self._chunks[message.id] = text
                return
        self._last_message = text
        for listener in self._listeners:
            listener(StatusText(message.severity, text))
