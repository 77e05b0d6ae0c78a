"""Truth, sensors and radio of a vehicle as state records.

The wire has no word for a lost link: the autopilot would keep the last sticks, or, with
a throttle below its failsafe pulse, drive backwards when that failsafe is off. So the sticks go
to the middle when no frame has come for a second, as a receiver does whose failsafe is set so;
switches stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pico_gz.core.messages import Quaternion, SensorData, Vector3, VehicleTruth
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import GRAVITY_MPS2, PWM_NEUTRAL_US, US_PER_S
from pico_gz.errors import EncodeError
from pico_gz.vehicle.external.external_vehicle import (
    ArduPilotProfile,
    ExternalVehicle,
    FdmWire,
    Geodetic,
    ImuSource,
)
from pico_gz.wire.state import MAX_RANGEFINDERS, ExtraMemory, encode_plain_state, encode_state
from pico_gz.wire.state_record import (
    BatteryRecord,
    ImuRecord,
    SlowKeys,
    StateRecord,
    WindvaneRecord,
)
from pico_gz.wire.webots import encode_webots_state

LOST_AFTER_US = US_PER_S
STICK_CHANNELS: Final = 4
# A record has no room for more.
MAX_RC_CHANNELS: Final = 12


class ExternalRadio(Snapshot):
    """Takes radio frames of one vehicle and hands on what has changed.

    Args:
        vehicle_id: whose it is.
        send: takes the channels that go out from now on [us].
        report: takes what people should know, as half a sentence.
    """

    _state_fields = ("_heard_us", "_lost", "_sent")

    def __init__(
        self, vehicle_id: int, send: Callable[[Sequence[int]], None], report: Callable[[str], None]
    ) -> None:
        self.vehicle_id = vehicle_id
        self._send = send
        self._report = report
        self._sent: tuple[int, ...] = ()
        self._heard_us: int | None = None
        self._lost = False

    def inject_rc(self, channels_us: Sequence[int], now_us: int) -> None:
        """Take a frame: channel 1 first, 0 = the receiver has no such channel."""
        if self._lost:
            self._report("its radio is back.")
        self._lost = False
        self._heard_us = now_us
        self._hand_on(without_holes(channels_us))

    def check(self, now_us: int) -> None:
        """Notice a link that is lost; to be called every step."""
        if self._heard_us is None or self._lost:
            return
        if now_us - self._heard_us > LOST_AFTER_US:
            self._lost = True
            sticks = min(STICK_CHANNELS, len(self._sent))
            self._hand_on((PWM_NEUTRAL_US,) * sticks + self._sent[sticks:])
            self._report("its radio is lost; its sticks are in the middle.")

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave, and send what went out then."""
        super().load_state(state)
        if self._sent:
            self._send(self._sent)

    def _hand_on(self, channels_us: tuple[int, ...]) -> None:
        if channels_us and channels_us != self._sent:
            self._sent = channels_us
            self._send(channels_us)


def without_holes(channels_us: Sequence[int]) -> tuple[int, ...]:
    """Return what the wire can carry: twelve channels, the missing ones before the last neutral.

    The autopilot looks for substrings, so that ``rc_10`` without ``rc_1`` is read as both.
    """
    present = list(channels_us[:MAX_RC_CHANNELS])
    while present and not present[-1]:
        present.pop()
    return tuple(pulse_us or PWM_NEUTRAL_US for pulse_us in present)


# What an IMU says that has failed and has nothing to say; steps between two samples are no silence.
_IMU_SILENCE_US: Final = US_PER_S // 20
_DEAD_IMU = ImuRecord((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
_CALM = (0.0, 0.0, 0.0)


class RecordWriter:
    """Writes one vehicle's records; remembers what slow sensors said last.

    Optional keys, once sent, are sent in every record: the autopilot announces each change of
    the key set, and stale values would be worse than repeated ones.
    """

    def __init__(
        self,
        vehicle: ExternalVehicle,
        profile: ArduPilotProfile,
        *,
        lockstep: bool = True,
        geodetic: Geodetic | None = None,
    ) -> None:
        self._always_measured = self._measured = vehicle.imu is ImuSource.SENSOR
        self._failing = False
        self._last_imu = _DEAD_IMU
        self._last_imu_us = 0
        self._geodetic = geodetic if profile is ArduPilotProfile.FROM_4_7 else None
        # Releases before 4.7 do not know the key; a lockstep server must not send it as true.
        self._no_lockstep = True if profile is ArduPilotProfile.FROM_4_7 and not lockstep else None
        self._no_time_sync = True if vehicle.no_time_sync else None
        self._is_webots = vehicle.wire is FdmWire.WEBOTS
        self._ranges_m: list[float | None] = [None] * MAX_RANGEFINDERS
        self._battery: BatteryRecord | None = None
        self._rc: dict[str, float] | None = None
        self._windy = False
        self._extra = ExtraMemory() if vehicle.extra_keys else None
        # Nothing but what every record has and what changes seldom, whose text is kept.
        self._flies = vehicle.aircraft_channels is not None
        self._is_plain = self._extra is None and self._geodetic is None and not self._flies
        self._slow: bytes | None = None

    def set_rc(self, channels_us: Sequence[int]) -> None:
        """Send these radio channels from now on, RC1 first [us]."""
        if len(channels_us) > MAX_RC_CHANNELS:
            raise EncodeError(f"At most {MAX_RC_CHANNELS} radio channels, not {len(channels_us)}.")
        self._rc = {f"rc_{i}": float(us) for i, us in enumerate(channels_us, 1)} or None
        self._slow = None

    def set_imu_failing(self, failing: bool) -> None:
        """Send what the IMU measures while it fails, also where truth is sent otherwise."""
        self._failing = failing
        self._measured = failing or self._always_measured
        self._last_imu = _DEAD_IMU

    @property
    def needs_all(self) -> bool:
        """Whether records are made of samples of the IMU or of encoders, too."""
        return self._measured or self._extra is not None

    def write(self, truth: VehicleTruth, sensors: SensorData | None, time_us: int) -> bytes:
        """Return the datagram of the state at ``time_us``.

        Raises:
            EncodeError: the state has a number that is not finite.
        """
        if sensors is not None:
            self._remember(sensors)
        imu = self._imu(truth, sensors, time_us)
        position = (truth.north_m, truth.east_m, truth.down_m)
        if self._is_webots:
            return encode_webots_state(
                time_us / US_PER_S,
                imu.gyro_frd_radps,
                imu.accel_frd_mps2,
                truth.quat_wxyz,
                truth.velocity_ned_mps,
                position,
            )
        if self._is_plain and truth.wind_ned_mps == _CALM:
            return encode_plain_state(
                time_us / US_PER_S,
                imu,
                position,
                truth.quat_wxyz,
                truth.velocity_ned_mps,
                self._slow_keys() if self._slow is None else self._slow,
            )
        return self._write_all(truth, imu, position, time_us)

    def _slow_keys(self) -> bytes:
        ranges = self._ranges_m
        self._slow = SlowKeys(
            rng_6=ranges[5],
            rng_5=ranges[4],
            rng_4=ranges[3],
            rng_3=ranges[2],
            rng_2=ranges[1],
            rng_1=ranges[0],
            rc=self._rc,
            battery=self._battery,
            no_time_sync=self._no_time_sync,
            no_lockstep=self._no_lockstep,
        ).encode()
        return self._slow

    def _write_all(
        self, truth: VehicleTruth, imu: ImuRecord, position_ned_m: Vector3, time_us: int
    ) -> bytes:
        ranges = self._ranges_m
        where = self._where(truth)
        wind = self._wind(truth)
        return encode_state(
            StateRecord(
                timestamp_s=time_us / US_PER_S,
                imu=imu,
                position_ned_m=position_ned_m,
                quat_wxyz=truth.quat_wxyz,
                velocity_ned_mps=truth.velocity_ned_mps,
                latitude_deg=where[0],
                longitude_deg=where[1],
                altitude_m=where[2],
                rng_6=ranges[5],
                rng_5=ranges[4],
                rng_4=ranges[3],
                rng_3=ranges[2],
                rng_2=ranges[1],
                rng_1=ranges[0],
                wind_ned_mps=wind,
                windvane=None if wind is None else apparent_wind(truth),
                airspeed_mps=pitot_airspeed(truth) if self._flies else None,
                rc=self._rc,
                battery=self._battery,
                no_time_sync=self._no_time_sync,
                no_lockstep=self._no_lockstep,
            ),
            None if self._extra is None else self._extra.keys(time_us),
        )

    def _remember(self, sensors: SensorData) -> None:
        if self._extra is not None:
            self._extra.remember(sensors)
        if sensors.rangefinders is not None:
            self._slow = None
            for place, sample in enumerate(sensors.rangefinders[:MAX_RANGEFINDERS]):
                if sample is not None:
                    self._ranges_m[place] = sample.distance_m
        if sensors.battery is not None:
            self._slow = None
            self._battery = BatteryRecord(sensors.battery.voltage_v, sensors.battery.current_a)

    def _imu(self, truth: VehicleTruth, sensors: SensorData | None, time_us: int) -> ImuRecord:
        if self._measured:
            if sensors is not None and sensors.imu is not None:
                self._last_imu = ImuRecord(sensors.imu.gyro_rads, sensors.imu.accel_mss)
                self._last_imu_us = time_us
                return self._last_imu
            if self._failing:
                is_silent = time_us - self._last_imu_us > _IMU_SILENCE_US
                return _DEAD_IMU if is_silent else self._last_imu
        force = specific_force(truth.quat_wxyz, truth.accel_ned_mps2)
        return ImuRecord(truth.rates_frd_radps, force)

    def _where(self, truth: VehicleTruth) -> tuple[float | None, float | None, float | None]:
        if self._geodetic is None:
            return None, None, None
        return self._geodetic(truth.north_m, truth.east_m, truth.down_m)

    def _wind(self, truth: VehicleTruth) -> Vector3 | None:
        if not self._windy and any(truth.wind_ned_mps):
            self._windy = True
            self._is_plain = False
        return truth.wind_ned_mps if self._windy else None


def specific_force(quat_wxyz: Quaternion, accel_ned_mps2: Vector3) -> Vector3:
    """Return what an accelerometer feels, body FRD: ``R^T (a - g)`` [m/s^2]."""
    w, x, y, z = quat_wxyz
    north, east, down = accel_ned_mps2
    down -= GRAVITY_MPS2
    # v + 2 q x (q x v + w v) with the conjugate quaternion: cheaper than the whole matrix.
    tx = 2.0 * (z * east - y * down)
    ty = 2.0 * (x * down - z * north)
    tz = 2.0 * (y * north - x * east)
    return (
        north + w * tx + z * ty - y * tz,
        east + w * ty + x * tz - z * tx,
        down + w * tz + y * tx - x * ty,
    )


def pitot_airspeed(truth: VehicleTruth) -> float:
    """Return the true airspeed that a tube ahead of the nose measures; never below 0 [m/s]."""
    w, x, y, z = truth.quat_wxyz
    north, east, down = (
        speed - wind for speed, wind in zip(truth.velocity_ned_mps, truth.wind_ned_mps, strict=True)
    )
    ahead = (
        (1.0 - 2.0 * (y * y + z * z)) * north
        + 2.0 * (x * y + w * z) * east
        + 2.0 * (x * z - w * y) * down
    )
    return max(0.0, ahead)


def apparent_wind(truth: VehicleTruth) -> WindvaneRecord:
    """Return the wind that a moving vane feels: where it comes from, clockwise from the bow."""
    w, x, y, z = truth.quat_wxyz
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    north = truth.wind_ned_mps[0] - truth.velocity_ned_mps[0]
    east = truth.wind_ned_mps[1] - truth.velocity_ned_mps[1]
    from_rad = (math.atan2(-east, -north) - yaw) % (2.0 * math.pi)
    return WindvaneRecord(from_rad, math.hypot(north, east))
