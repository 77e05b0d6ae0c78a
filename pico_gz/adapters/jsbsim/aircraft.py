"""One aircraft of JSBSim, in the kit's units and frames.

Feet, slugs and JSBSim's local frame, which moves with the aircraft, end here. Its gravity does,
too: accelerometers feel the kit's standard gravity, as those of every other simulator do.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from pico_gz.core.frames import (
    LocalFrame,
    Matrix3,
    Quaternion,
    Vector3,
    quat_from_euler,
    quat_from_rotation,
    rotation_from_quat,
)
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.errors import ConfigError, MissingExtraError, did_you_mean

log = logging.getLogger(__name__)

FOOT_M: Final = 0.3048
# JSBSim's own default; gears and engines get unstable with much longer steps.
MAX_PHYSICS_STEP_US: Final = 8_333
DEFAULT_MODEL = "c172p"
# Below this the throttle counts as closed, and the wheel brakes hold.
CLOSED_THROTTLE: Final = 0.05
# From here the trim lowers it onto its wheels.
_ABOVE_WHEELS_M: Final = 3.0

_FULL_TRIM, _GROUND_TRIM = 1, 2
# What is read after a step, in JSBSim's words.
_OUTPUTS = (
    "position/lat-geod-deg", "position/long-gc-deg", "position/geod-alt-ft",
    "velocities/v-north-fps", "velocities/v-east-fps", "velocities/v-down-fps",
    "attitude/phi-rad", "attitude/theta-rad", "attitude/psi-rad",
    "velocities/p-rad_sec", "velocities/q-rad_sec", "velocities/r-rad_sec",
    "accelerations/udot-ft_sec2", "accelerations/vdot-ft_sec2", "accelerations/wdot-ft_sec2",
    "accelerations/pdot-rad_sec2", "accelerations/qdot-rad_sec2", "accelerations/rdot-rad_sec2",
    "velocities/u-fps", "velocities/v-fps", "velocities/w-fps",
)  # fmt: skip
_INPUTS = (
    "atmosphere/wind-north-fps", "atmosphere/wind-east-fps",
    "fcs/aileron-cmd-norm", "fcs/elevator-cmd-norm", "fcs/rudder-cmd-norm", "fcs/steer-cmd-norm",
    "fcs/left-brake-cmd-norm", "fcs/right-brake-cmd-norm", "fcs/center-brake-cmd-norm",
)  # fmt: skip


class AircraftSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which aircraft, and how it starts.

    Attributes:
        model: name of an aircraft of the ``jsbsim`` package.
        altitude_m: height above the fleet's origin; 0: it stands on the runway.
        airspeed_mps: true airspeed in the air; 0 on the runway.
    """

    model: str = DEFAULT_MODEL
    altitude_m: float = 0.0
    airspeed_mps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a start that is neither."""
        if not (math.isfinite(self.altitude_m + self.airspeed_mps) and self.altitude_m >= 0.0):
            raise ConfigError(f"An aircraft cannot start like this: {self!r}")
        if self.altitude_m > 0.0 and self.airspeed_mps <= 0.0:
            raise ConfigError(
                f"In the air at {self.altitude_m:g} m an aircraft needs an airspeed.",
                hint="Set airspeed_mps, or altitude_m = 0 for the runway.",
            )
        if self.altitude_m == 0.0 and self.airspeed_mps != 0.0:
            raise ConfigError(
                "On the runway an aircraft stands.",
                hint="Leave out airspeed_mps, or set altitude_m.",
            )


class Start(NamedTuple):
    """Where an aircraft starts; the wind is that of the moment, towards north and east."""

    model: str
    north_m: float
    east_m: float
    yaw_deg: float
    altitude_m: float
    airspeed_mps: float
    wind_north_mps: float = 0.0
    wind_east_mps: float = 0.0


class Controls(NamedTuple):
    """What a pilot moves: throttle 0..1; right roll, nose up, nose right positive, -1..1."""

    throttle: float = 0.0
    aileron: float = 0.0
    elevator: float = 0.0
    rudder: float = 0.0


class Flight(NamedTuple):
    """The state of an aircraft in the fleet's frame; ``altitude_m`` is above the ellipsoid."""

    position_ned_m: Vector3
    velocity_ned_mps: Vector3
    quat_wxyz: Quaternion
    rates_frd_radps: Vector3
    accel_ned_mps2: Vector3
    angular_accel_frd_radps2: Vector3
    specific_force_frd_mps2: Vector3
    altitude_m: float


class Aircraft:
    """One aircraft in flight.

    Its bits follow from its start and from what ``advance`` was given.

    Raises:
        ConfigError: there is no such model, or it cannot be trimmed for this start.
    """

    def __init__(self, start: Start, frame: LocalFrame) -> None:
        self._frame = frame
        self._fdm = fdm = _load(start.model)
        self._dt_us = 0.0
        _prepare(fdm, start, frame)
        _trim(fdm, start)
        find, engines = fdm.get_property_manager().get_node, fdm.get_propulsion().get_num_engines()
        self._throttles = [find(f"fcs/throttle-cmd-norm[{i}]", True) for i in range(engines)]
        self._inputs = [find(name, True) for name in _INPUTS]
        self._outputs = [find(name) for name in _OUTPUTS]

    def advance(self, controls: Controls, wind: tuple[float, float], dt_us: int) -> None:
        """Fly on for ``dt_us``, in equal parts of at most ``MAX_PHYSICS_STEP_US``."""
        fdm = self._fdm
        parts = -(-dt_us // MAX_PHYSICS_STEP_US)
        if dt_us / parts != self._dt_us:
            self._dt_us = dt_us / parts
            fdm.set_dt(self._dt_us / US_PER_S)
        brake = 0.5 if controls.throttle < CLOSED_THROTTLE else 0.0
        # JSBSim's elevator is positive nose down, its rudder nose left, its nose wheel right.
        inputs = (
            wind[0] / FOOT_M,
            wind[1] / FOOT_M,
            controls.aileron,
            -controls.elevator,
            -controls.rudder,
            controls.rudder,
            brake,
            brake,
            brake,
        )
        for node, value in zip(self._inputs, inputs, strict=True):
            node.set_double_value(value)
        for node in self._throttles:
            node.set_double_value(controls.throttle)
        for _ in range(parts):
            fdm.run()

    def read(self) -> Flight:
        """The state now."""
        (lat_deg, lon_deg, alt_ft, north, east, down, roll, pitch, yaw, p, q, r,
         udot, vdot, wdot, pdot, qdot, rdot, u, v, w) = (
            [node.get_double_value() for node in self._outputs])  # fmt: skip
        alt_m = alt_ft * FOOT_M
        turn = local_to_fleet(self._frame, lat_deg, lon_deg)
        rotation = _product(turn, rotation_from_quat(quat_from_euler(roll, pitch, yaw)))
        # The velocity is seen from the turning body.
        accel = (udot + q * w - r * v, vdot + r * u - p * w, wdot + p * v - q * u)
        accel_frd = (accel[0] * FOOT_M, accel[1] * FOOT_M, accel[2] * FOOT_M)
        (_, _, _), (_, _, _), (r20, r21, r22) = rotation
        return Flight(
            self._frame.ned_from_geodetic(lat_deg, lon_deg, alt_m),
            _turned(turn, (north * FOOT_M, east * FOOT_M, down * FOOT_M)),
            quat_from_rotation(rotation),
            (p, q, r),
            _turned(rotation, accel_frd),
            (pdot, qdot, rdot),
            (
                accel_frd[0] - r20 * GRAVITY_MPS2,
                accel_frd[1] - r21 * GRAVITY_MPS2,
                accel_frd[2] - r22 * GRAVITY_MPS2,
            ),
            alt_m,
        )


def local_to_fleet(frame: LocalFrame, lat_deg: float, lon_deg: float) -> Matrix3:
    """Return the rotation from north, east, down at a place to those of the fleet's origin."""
    lat, lon = math.radians(lat_deg), math.radians(lon_deg)
    there = _axes(math.sin(lat), math.cos(lat), math.sin(lon), math.cos(lon))
    here = _axes(frame.sin_lat, frame.cos_lat, frame.sin_lon, frame.cos_lon)
    return _product(here, _transposed(there))


def _axes(sin_lat: float, cos_lat: float, sin_lon: float, cos_lon: float) -> Matrix3:
    """North, east and down at a place as earth-centred vectors."""
    return (
        (-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat),
        (-sin_lon, cos_lon, 0.0),
        (-cos_lat * cos_lon, -cos_lat * sin_lon, -sin_lat),
    )


def _product(a: Matrix3, b: Matrix3) -> Matrix3:
    x, y, z = _transposed(b)
    p, q, r = _turned(a, x), _turned(a, y), _turned(a, z)
    return _transposed((p, q, r))


def _turned(rotation: Matrix3, vector: Vector3) -> Vector3:
    (a, b, c), (d, e, f), (g, h, i) = rotation
    x, y, z = vector
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


# --- JSBSim itself ------------------------------------------------------------------------


@cache
def package() -> Any:
    """The ``jsbsim`` package, silenced: what it prints goes to the log instead.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        library: Any = importlib.import_module("jsbsim")
    except ImportError as exc:
        raise MissingExtraError("jsbsim", "The adapter jsbsim") from exc
    library.FGJSBBase().debug_lvl = 0
    pieces: list[str] = []

    def flush(_: object) -> None:
        log.debug("%s", " ".join("".join(pieces).split()))
        pieces.clear()

    methods: dict[str, Any] = {
        **dict.fromkeys(("set_level", "file_location", "format"), lambda *_: None),
        "message": lambda _, text: pieces.append(text),
        "flush": flush,
    }
    library.set_logger(type("Logger", (library.FGLogger,), methods)())
    return library


def model_names() -> list[str]:
    """The aircraft of the package."""
    folder = Path(package().get_default_root_dir()) / "aircraft"
    return sorted(one.name for one in folder.iterdir() if (one / f"{one.name}.xml").is_file())


def require_model(model: str) -> None:
    """Refuse an aircraft that the package does not have.

    Raises:
        ConfigError: there is none; the nearest names are offered.
    """
    names = model_names()
    if model not in names:
        raise ConfigError(f"JSBSim has no aircraft {model!r}.", hint=did_you_mean(model, names))


def _load(model: str) -> Any:
    require_model(model)
    library = package()
    fdm = library.FGFDMExec(None)
    fdm.set_debug_level(0)
    try:
        loaded = fdm.load_model(model)
    except RuntimeError as exc:
        raise ConfigError(f"JSBSim cannot load {model}: {' '.join(str(exc).split())}") from exc
    if not loaded:
        raise ConfigError(f"JSBSim cannot load {model}.")
    # Some models would write files into the current folder; a header even when disabled.
    number = 0
    while fdm.set_output_filename(number, os.devnull):
        number += 1
    fdm.disable_output()
    return fdm


def _prepare(fdm: Any, start: Start, frame: LocalFrame) -> None:
    """Put an aircraft at its start, engines running."""
    lat_deg, lon_deg, _ = frame.geodetic_from_ned(start.north_m, start.east_m, 0.0)
    to_fleet = local_to_fleet(frame, lat_deg, lon_deg)
    yaw = math.radians(start.yaw_deg)
    north, east, _ = _turned(_transposed(to_fleet), (math.cos(yaw), math.sin(yaw), 0.0))
    fdm["ic/lat-geod-deg"] = lat_deg
    fdm["ic/long-gc-deg"] = lon_deg
    fdm["ic/terrain-elevation-ft"] = frame.alt_m / FOOT_M
    fdm["ic/psi-true-deg"] = math.degrees(math.atan2(east, north))
    fdm["ic/h-agl-ft"] = (start.altitude_m or _ABOVE_WHEELS_M) / FOOT_M
    if start.altitude_m:
        wind_n, wind_e = start.wind_north_mps, start.wind_east_mps
        fdm["ic/vw-mag-fps"] = math.hypot(wind_n, wind_e) / FOOT_M
        fdm["ic/vw-dir-deg"] = math.degrees(math.atan2(wind_e, wind_n))
        fdm["ic/vn-fps"] = (start.airspeed_mps * north + wind_n) / FOOT_M
        fdm["ic/ve-fps"] = (start.airspeed_mps * east + wind_e) / FOOT_M
    fdm.run_ic()
    fdm["propulsion/magneto_cmd"] = 3.0
    for number in range(fdm.get_propulsion().get_num_engines()):
        fdm[f"fcs/mixture-cmd-norm[{number}]"] = 1.0
        fdm[f"fcs/advance-cmd-norm[{number}]"] = 1.0
    fdm["propulsion/set-running"] = -1.0


def _trim(fdm: Any, start: Start) -> None:
    """Balance an aircraft: level flight, or standing on its wheels."""
    try:
        fdm["simulation/do_simple_trim"] = _FULL_TRIM if start.altitude_m else _GROUND_TRIM
    except RuntimeError as exc:
        how = (
            f"level flight at {start.airspeed_mps:g} m/s and {start.altitude_m:g} m"
            if start.altitude_m
            else "standing on the runway"
        )
        raise ConfigError(
            f"JSBSim cannot trim {start.model} for {how}.",
            hint="Change airspeed_mps and altitude_m, or the model.",
        ) from exc
    for number in range(fdm.get_propulsion().get_num_engines()):
        if not fdm[f"propulsion/engine[{number}]/set-running"]:
            raise ConfigError(
                f"JSBSim does not start engine {number + 1} of {start.model} on the runway.",
                hint="Start it in the air, with altitude_m and airspeed_mps.",
            )


def _transposed(matrix: Matrix3) -> Matrix3:
    (a, b, c), (d, e, f), (g, h, i) = matrix
    return (a, d, g), (b, e, h), (c, f, i)
