"""The keys of a state record, in their order."""

from __future__ import annotations

import msgspec

from pico_gz.core.messages import Quaternion, Vector3

_encoder = msgspec.json.Encoder()


class ImuRecord(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={"gyro_frd_radps": "gyro", "accel_frd_mps2": "accel_body"},
):
    """The ``imu`` section: rate [rad/s] and specific force [m/s^2], body FRD."""

    gyro_frd_radps: Vector3
    accel_frd_mps2: Vector3


class WindvaneRecord(
    msgspec.Struct, frozen=True, gc=False, rename={"from_rad": "direction", "speed_mps": "speed"}
):
    """The ``windvane`` section: where the apparent wind comes from, and its speed [m/s].

    ``from_rad`` is clockwise from the bow [rad].
    """

    from_rad: float
    speed_mps: float


class BatteryRecord(
    msgspec.Struct, frozen=True, gc=False, rename={"voltage_v": "voltage", "current_a": "current"}
):
    """The ``battery`` section, volts and amperes."""

    voltage_v: float
    current_a: float


class StateRecord(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={
        "timestamp_s": "timestamp",
        "position_ned_m": "position",
        "attitude_rad": "attitude",
        "quat_wxyz": "quaternion",
        "velocity_ned_mps": "velocity",
        "latitude_deg": "latitude",
        "longitude_deg": "longitude",
        "altitude_m": "altitude",
        "wind_ned_mps": "velocity_wind",
        "airspeed_mps": "airspeed",
    },
):
    """One state record; the order of the fields is the order on the wire.

    Attributes:
        timestamp_s: physics time [s].
        imu: rate and specific force.
        position_ned_m: from the autopilot's home [m].
        attitude_rad: roll, pitch, yaw [rad]; this or ``quat_wxyz`` must be there.
        quat_wxyz: body FRD to NED; wins when both are there.
        velocity_ned_mps: [m/s].
        latitude_deg: with ``longitude_deg`` and ``altitude_m``, for release 4.7 on.
        rng_1: and ``rng_2`` .. ``rng_6``: distances [m].
        wind_ned_mps: where the air moves to [m/s].
        windvane: apparent wind at the vehicle.
        airspeed_mps: [m/s].
        rc: ``{"rc_1": us, ...}``, from 1 upward without holes.
        battery: volts and amperes.
        no_time_sync: the autopilot shall not pace itself to the wall clock.
        no_lockstep: the autopilot shall not wait for records.
    """

    timestamp_s: float
    imu: ImuRecord
    position_ned_m: Vector3
    attitude_rad: Vector3 | None = None
    quat_wxyz: Quaternion | None = None
    velocity_ned_mps: Vector3
    latitude_deg: float | None = None
    longitude_deg: float | None = None
    altitude_m: float | None = None
    rng_6: float | None = None
    rng_5: float | None = None
    rng_4: float | None = None
    rng_3: float | None = None
    rng_2: float | None = None
    rng_1: float | None = None
    wind_ned_mps: Vector3 | None = None
    windvane: WindvaneRecord | None = None
    airspeed_mps: float | None = None
    rc: dict[str, float] | None = None
    battery: BatteryRecord | None = None
    no_time_sync: bool | None = None
    no_lockstep: bool | None = None

    def rangefinders_m(self) -> tuple[float | None, ...]:
        """The distances ``rng_1``, ``rng_2``, ... up to the last that is there [m].

        ``None`` is one without a reading: left out, or -1, the plugin's word before a scan.
        """
        keys = (self.rng_1, self.rng_2, self.rng_3, self.rng_4, self.rng_5, self.rng_6)
        found = [None if value is None or value < 0.0 else value for value in keys]
        while found and found[-1] is None:
            found.pop()
        return tuple(found)


class PlainRecord(msgspec.Struct, frozen=True, gc=False):
    """The keys that every record has, without anything optional: quick to build and write."""

    timestamp: float
    imu: ImuRecord
    position: Vector3
    quaternion: Quaternion
    velocity: Vector3


class SlowKeys(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The keys of a ``StateRecord`` that change seldom, in their order on the wire."""

    rng_6: float | None = None
    rng_5: float | None = None
    rng_4: float | None = None
    rng_3: float | None = None
    rng_2: float | None = None
    rng_1: float | None = None
    rc: dict[str, float] | None = None
    battery: BatteryRecord | None = None
    no_time_sync: bool | None = None
    no_lockstep: bool | None = None

    def encode(self) -> bytes:
        """The text for ``encode_plain_state``; nothing when there is none of them."""
        body = _encoder.encode(self)
        return b",%b" % body[1:-1] if len(body) > 2 else b""


class GpsExtra(msgspec.Struct, frozen=True, gc=False):
    """A position fix: degrees, degrees, metres, m/s, degrees clockwise from north."""

    lat: float
    lon: float
    alt: float
    speed: float
    course: float


class BarometerExtra(msgspec.Struct, frozen=True, gc=False):
    """Pressure [Pa] and temperature [degrees C]."""

    pressure: float
    temperature: float


class SimulatorExtra(msgspec.Struct, frozen=True, gc=False):
    """How often time has started over, and how far this record is from the one before [s]."""

    epoch: int
    dt: float


class ExtraKeys(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The extra keys; a sensor that has not spoken yet is left out.

    Attributes:
        gps: newest fix.
        mag: magnetic field, body FRD [gauss].
        baro: newest pressure.
        encoders: counts since power-on, (left, right).
        sim: the simulator's clock.
    """

    gps: GpsExtra | None = None
    mag: Vector3 | None = None
    baro: BarometerExtra | None = None
    encoders: tuple[int, int] | None = None
    sim: SimulatorExtra
