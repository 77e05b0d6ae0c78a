"""A scripted flight: take-off, one circuit, landing.

It sees its platform alone. Attitude comes from ``AttitudeEstimate``, height from the barometer,
position, course and speed from the GPS. There is no airspeed sensor on the board, so it flies by
ground speed, with a margin that allows for a light wind. Gains fit light single-engined aircraft.
"""

from __future__ import annotations

import math
from functools import cache
from typing import ClassVar, Final, NamedTuple

from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.frames import LocalFrame, wrap_pi
from pico_gz.core.messages import CompassData, GpsData
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S, pwm_from_normalized, pwm_from_throttle
from pico_gz.errors import ConfigError
from pico_gz.vehicle.attitude import AttitudeEstimate
from pico_gz.vehicle.platform.platform import SitlPlatform

CIRCUIT = "circuit"
USAGE = "circuit[:height_m[,width_m]]"
HEIGHT_M: Final = 150.0
WIDTH_M: Final = 1000.0
# How long it takes with the default sizes, about.
EXPECTED_S: Final = 330.0

ROTATE_MPS: Final = 31.0
CLIMB_MPS: Final = 38.0
CRUISE_MPS: Final = 45.0
APPROACH_MPS: Final = 34.0
FLARE_M: Final = 6.0
GLIDE: Final = 0.055
AIM_M: Final = 250.0  # beyond the start
FINAL_M: Final = 2200.0  # length of the final approach
MAX_BANK_RAD: Final = math.radians(25.0)
TURN_LEAD_M: Final = 450.0
# It stands still after a while: then the biases are learned.
_SETTLE_US: Final = 1_500_000
_LEARN_US: Final = 2_000_000
_LEARN_FLYING_US: Final = 400_000
_FLYING_MPS: Final = 20.0
# The standard atmosphere, for heights above the start.
_METRES_PER_LN_PA: Final = 8434.0


class Leg(NamedTuple):
    """One part of the circuit, in the runway's frame: along it, and to the side of the circuit."""

    name: str
    course_deg: float  # from the runway's, towards the side of the circuit
    speed_mps: float


LEGS = (
    Leg("take-off", 0.0, CRUISE_MPS),
    Leg("climb", 0.0, CRUISE_MPS),
    Leg("crosswind", 90.0, CRUISE_MPS),
    Leg("downwind", 180.0, CRUISE_MPS),
    Leg("base", 270.0, APPROACH_MPS + 4.0),
    Leg("final", 0.0, APPROACH_MPS),
    Leg("flare", 0.0, APPROACH_MPS),
    Leg("rollout", 0.0, 0.0),
)


_CLIMB = 1


def parse_circuit(text: str) -> tuple[float, float]:
    """Read ``circuit:150,1000``: height and width [m]; a negative width turns right.

    Raises:
        ConfigError: numbers that are none, or no circuit.
    """
    _, _, rest = text.removeprefix("script:").partition(":")
    try:
        numbers = [float(word) for word in rest.split(",")] if rest else []
    except ValueError:
        raise ConfigError(f"Script {text!r} has no numbers after its name.", hint=USAGE) from None
    height_m, width_m = (*numbers, *(HEIGHT_M, WIDTH_M)[len(numbers) :])[:2]
    if len(numbers) > 2 or not (60.0 <= height_m <= 1000.0 and 900.0 <= abs(width_m) <= 5000.0):
        raise ConfigError(
            f"Script {text!r} makes no sense.",
            hint=f"Use {USAGE}: height 60..1000 m, width 900..5000 m; left is positive.",
        )
    return height_m, width_m


class CircuitPilot(Snapshot):
    """An ``Autopilot`` that flies one circuit and lands.

    One that starts in the air does not know how high the ground is: it flies circuits at the
    height that it has, over its start, and counts as done after the first.
    """

    period_us = 20_000

    _state_fields: ClassVar[tuple[str, ...]] = (
        "_attitude", "_along_m", "_aside_m", "_climb_mps", "_compass_gauss", "_course_rad",
        "_first_us", "_fix_us", "_height_m", "_home", "_is_ready", "_leg", "_message", "_pitch_sum",
        "_pressures", "_runway_rad", "_speed_mps", "_throttle_sum", "_elevator_sum", "_aileron_sum",
        "_rudder_sum", "_done", "_is_home", "_lands",
    )  # fmt: skip

    def __init__(self, script: str = CIRCUIT) -> None:
        self._circuit_m, width_m = parse_circuit(script)
        # Left is the usual side.
        self._width_m, self._side = abs(width_m), -math.copysign(1.0, width_m)
        self._platform: SitlPlatform | None = None
        self._attitude = AttitudeEstimate()
        self._leg = 0
        self._is_ready = False
        self._home: list[float] = []
        self._pressures = [0.0, 0.0]  # sum and count at the start
        self._compass_gauss: list[float] = []
        self._first_us = self._fix_us = -1
        self._along_m = self._aside_m = self._height_m = 0.0
        self._speed_mps = self._climb_mps = self._course_rad = 0.0
        self._runway_rad = 0.0
        self._pitch_sum = self._throttle_sum = self._elevator_sum = 0.0
        self._aileron_sum = self._rudder_sum = 0.0
        self._message = "learns its sensors' biases"
        self._lands = True
        self._is_home = self._done = False

    def start(self, platform: SitlPlatform) -> None:
        """Claim the outputs: surfaces neutral, throttle closed."""
        channels = platform.aircraft_channels
        if channels is None:
            raise ConfigError(
                f"Vehicle {platform.vehicle_id} is no aircraft: script {CIRCUIT} cannot fly it."
            )
        owner = f"script {CIRCUIT}"
        self._aileron = platform.create_pwm(channels.aileron, owner=owner)
        self._elevator = platform.create_pwm(channels.elevator, owner=owner)
        self._throttle = platform.create_pwm(channels.throttle, owner=owner)
        self._rudder = platform.create_pwm(channels.rudder, owner=owner)
        self._platform = platform
        self._output(0.0, 0.0, 0.0, 0.0)

    def status(self) -> AutopilotStatus:
        """What it is doing; ``done`` when it stands on the runway again."""
        return AutopilotStatus(
            mode=f"script:{CIRCUIT}",
            armed=not self._done,
            waypoint=self._leg,
            last_message=self._message,
            done=self._is_home,
        )

    def tick(self, now_us: int) -> None:
        """Read the sensors and fly on."""
        if self._platform is None:
            raise ConfigError(f"Script {CIRCUIT} ticks before it was started.")
        self._read(self._platform, now_us)
        if self._done:
            return
        if not self._is_ready:
            self._get_ready(now_us)
            return
        self._sequence()
        if not self._done:
            self._fly(self.period_us / US_PER_S)

    # --- sensors --------------------------------------------------------------------------

    def _read(self, platform: SitlPlatform, now_us: int) -> None:
        for time_us, sample in platform.read_body_imu():
            if self._is_ready:
                self._attitude.update(time_us, sample)
            elif self._has_settled(time_us):
                self._attitude.learn(sample)
        compass = platform.read_body_compass()
        if compass is not None:
            self._compass_gauss = list(compass.mag_gauss)
            if self._is_ready:
                self._attitude.see_compass(compass)
        air = platform.read_pascals()
        if air is not None:
            self._see_pressure(air.pressure_pa)
        fix = platform.read_gps()
        if fix is not None and fix.fix_type > 0:
            self._see_fix(fix, now_us)

    def _has_settled(self, now_us: int) -> bool:
        """Whether it stands still; a trimmed flight is steady from the first moment."""
        if self._first_us < 0:
            self._first_us = now_us
        return self._speed_mps > _FLYING_MPS or now_us - self._first_us >= _SETTLE_US

    def _see_pressure(self, pressure_pa: float) -> None:
        if not self._is_ready:
            self._pressures = [self._pressures[0] + pressure_pa, self._pressures[1] + 1.0]
        elif self._pressures[1]:
            start_pa = self._pressures[0] / self._pressures[1]
            height_m = _METRES_PER_LN_PA * math.log(start_pa / pressure_pa)
            self._height_m += 0.3 * (height_m - self._height_m)

    def _see_fix(self, fix: GpsData, now_us: int) -> None:
        if not self._home:
            self._home = [fix.lat_deg, fix.lon_deg, fix.alt_m]
        north_m, east_m, _ = _frame_at(*self._home).ned_from_geodetic(
            fix.lat_deg, fix.lon_deg, fix.alt_m
        )
        cosine, sine = math.cos(self._runway_rad), math.sin(self._runway_rad)
        self._along_m = cosine * north_m + sine * east_m
        self._aside_m = self._side * (cosine * east_m - sine * north_m)
        north, east, down = fix.velocity_ned_mps
        self._speed_mps = math.hypot(north, east)
        self._climb_mps = -down
        if self._speed_mps > 3.0:
            self._course_rad = math.atan2(east, north)
        if self._is_ready and self._fix_us >= 0:
            dt_s = (now_us - self._fix_us) / US_PER_S
            self._attitude.see_velocity(fix.velocity_ned_mps, dt_s)
        self._fix_us = now_us

    def _get_ready(self, now_us: int) -> None:
        flies = self._speed_mps > _FLYING_MPS
        self._output(0.7 if flies else 0.0, 0.0, 0.0, 0.0)
        learned_us = _LEARN_FLYING_US if flies else _SETTLE_US + _LEARN_US
        if now_us - self._first_us < learned_us or self._fix_us < 0 or not self._compass_gauss:
            return
        x, y, z = self._compass_gauss
        self._is_ready = self._attitude.begin(CompassData((x, y, z)))
        _, _, self._runway_rad = self._attitude.euler_rad()
        if flies:
            self._lands = False
            self._learn_course()
            self._pressures = _lowered(self._pressures, self._circuit_m)
            self._height_m = self._circuit_m
        self._begin(_CLIMB if flies else 0)

    def _learn_course(self) -> None:
        """Take the course over ground for the heading; the compass does not know true north."""
        _, _, yaw = self._attitude.euler_rad()
        error = wrap_pi(self._course_rad - yaw)
        self._attitude.set_heading(error)
        self._runway_rad = wrap_pi(self._runway_rad + error)

    # --- sequence -------------------------------------------------------------------------

    def _begin(self, leg: int) -> None:
        self._leg = leg
        self._message = LEGS[leg].name

    def _sequence(self) -> None:
        name, height_m = LEGS[self._leg].name, self._height_m
        ends = {
            "take-off": height_m > 15.0,
            "climb": height_m > 0.6 * self._circuit_m,
            "crosswind": self._aside_m > self._width_m - TURN_LEAD_M,
            "downwind": self._along_m < AIM_M - FINAL_M,
            "base": self._aside_m < TURN_LEAD_M,
            "final": height_m < FLARE_M if self._lands else self._along_m > AIM_M,
            "flare": self._speed_mps < 22.0,
            "rollout": self._speed_mps < 1.0,
        }
        if name == "take-off" and self._speed_mps > 15.0 and not self._attitude.declination_rad:
            self._learn_course()
        if not ends[name]:
            return
        if name == "final" and not self._lands:
            self._is_home = True
            self._begin(_CLIMB)
            return
        if self._leg + 1 < len(LEGS):
            self._begin(self._leg + 1)
            return
        self._output(0.0, 0.0, 0.0, 0.0)
        self._done = self._is_home = True
        self._message = "done"

    # --- flight ---------------------------------------------------------------------------

    def _fly(self, dt_s: float) -> None:
        leg = LEGS[self._leg]
        roll, pitch, yaw = self._attitude.euler_rad()
        p, q, r = self._attitude.rates_frd_radps
        on_ground = leg.name == "rollout" or (
            leg.name == "take-off" and self._speed_mps < ROTATE_MPS
        )
        throttle = self._wanted_throttle(leg, dt_s)
        if on_ground:
            self._aileron_sum = self._elevator_sum = 0.0
            elevator, rudder = _within(-2.5 * pitch - 0.8 * q, 0.8), self._steer(yaw, r, dt_s)
            self._output(throttle, _within(-roll, 0.5), elevator, rudder)
            return
        bank = 0.0 if self._height_m < 10.0 else self._wanted_bank(leg)
        too_left = bank - roll
        self._aileron_sum = _within(self._aileron_sum + too_left * dt_s, 0.5)
        aileron = _within(1.5 * too_left - 0.4 * p + 0.4 * self._aileron_sum, 1.0)
        too_low = self._wanted_pitch(leg, dt_s) - pitch
        self._elevator_sum = _within(self._elevator_sum + too_low * dt_s, 0.3)
        elevator = _within(2.5 * too_low - 0.8 * q + 1.5 * self._elevator_sum, 0.8)
        turn = GRAVITY_MPS2 * math.tan(bank) / max(self._speed_mps, 20.0)
        self._output(throttle, aileron, elevator, _within(0.8 * (turn - r), 0.3))

    def _steer(self, yaw: float, rate: float, dt_s: float) -> float:
        """The rudder, and with it the nose wheel, that keeps to the middle of the runway."""
        back = -0.004 * self._side * _within(self._aside_m, 20.0)
        off = wrap_pi(self._runway_rad - yaw) + back
        self._rudder_sum = _within(self._rudder_sum + off * dt_s, 0.3)
        return _within(10.0 * off - 3.0 * rate + 3.0 * self._rudder_sum, 1.0)

    def _wanted_bank(self, leg: Leg) -> float:
        course = self._runway_rad + self._side * math.radians(leg.course_deg)
        off_m = {0.0: -self._aside_m, 180.0: self._aside_m - self._width_m}.get(leg.course_deg, 0.0)
        course += self._side * _within(0.004 * off_m, math.radians(40.0))
        rate = 0.3 * wrap_pi(course - self._course_rad)
        return _within(math.atan(rate * self._speed_mps / GRAVITY_MPS2), MAX_BANK_RAD)

    def _wanted_height(self, leg: Leg) -> float:
        """On final, that of the glide path; on base, that of its beginning."""
        if leg.name not in ("base", "final") or not self._lands:
            return self._circuit_m
        ahead_m = AIM_M - self._along_m if leg.name == "final" else FINAL_M + self._aside_m
        return min(self._circuit_m, max(0.0, GLIDE * ahead_m))

    def _is_climbing(self, leg: Leg) -> bool:
        return leg.name in ("take-off", "climb", "crosswind") and (
            self._height_m < self._circuit_m - 15.0
        )

    def _wanted_pitch(self, leg: Leg, dt_s: float) -> float:
        speed_mps = max(self._speed_mps, 20.0)
        if self._is_climbing(leg):  # with open throttle: pitch holds the speed
            too_fast = self._speed_mps - CLIMB_MPS
            return math.radians(7.0) + _within(0.02 * too_fast, math.radians(5.0))
        if leg.name == "flare":
            sink_mps = 0.4 + 0.25 * max(0.0, self._height_m)
            climb_mps = -min(sink_mps, 1.6)
        else:
            climb_mps = _within(0.25 * (self._wanted_height(leg) - self._height_m), 3.0)
            if leg.name == "final" and self._lands:
                climb_mps -= GLIDE * self._speed_mps
        error = (climb_mps - self._climb_mps) / speed_mps
        self._pitch_sum = _within(self._pitch_sum + 0.3 * error * dt_s, 0.15)
        wanted = climb_mps / speed_mps + 0.8 * error + self._pitch_sum
        return min(math.radians(12.0), max(math.radians(-8.0), wanted))

    def _wanted_throttle(self, leg: Leg, dt_s: float) -> float:
        if leg.name in ("flare", "rollout"):
            return 0.0
        if self._is_climbing(leg):
            self._throttle_sum = 0.65
            return 1.0
        error = leg.speed_mps - self._speed_mps
        self._throttle_sum = min(0.95, max(0.1, self._throttle_sum + 0.02 * error * dt_s))
        return min(1.0, max(0.06, self._throttle_sum + 0.04 * error))

    def _output(self, throttle: float, aileron: float, elevator: float, rudder: float) -> None:
        self._throttle.set_pulse_us(pwm_from_throttle(throttle))
        self._aileron.set_pulse_us(pwm_from_normalized(aileron))
        self._elevator.set_pulse_us(pwm_from_normalized(elevator))
        self._rudder.set_pulse_us(pwm_from_normalized(rudder))


@cache
def _frame_at(lat_deg: float, lon_deg: float, alt_m: float) -> LocalFrame:
    return LocalFrame(lat_deg, lon_deg, alt_m)


def _within(value: float, limit: float) -> float:
    return min(limit, max(-limit, value))


def _lowered(pressures: list[float], by_m: float) -> list[float]:
    """The pressures of a place that much lower."""
    total, count = pressures
    return [total * math.exp(by_m / _METRES_PER_LN_PA), count]
