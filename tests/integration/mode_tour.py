"""Every mode of the built-in autopilot: entered, driven for half a minute, left; on any simulator.

The rover is judged on truth. Sticks are held all the time, as with a real transmitter.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

STAGE_S = 30.0
# After circles, an IMU off the axle takes the estimator a while to forget.
SETTLE_S = 10.0
STICKS_EVERY_STEPS = 10
CENTRE = (0.0, 0.0)
HOME_M = (0.0, 0.0)
PARAMETERS = {"CIRC_RADIUS": 3.0, "CIRC_SPEED": 0.7, "WP_SPEED": 0.7}


@dataclass(frozen=True)
class Way:
    """What a rover did in one stage."""

    length_m: float
    turned_rad: float
    start_m: tuple[float, float]
    end_m: tuple[float, float]
    widest_m: float

    @classmethod
    def of(cls, truths):
        places = [(truth.north_m, truth.east_m) for truth in truths]
        yaws = [_yaw_rad(truth.quat_wxyz) for truth in truths]
        turned = sum(math.remainder(b - a, math.tau) for a, b in pairwise(yaws))
        return cls(
            length_m=sum(math.dist(a, b) for a, b in pairwise(places)),
            turned_rad=turned,
            start_m=places[0],
            end_m=places[-1],
            widest_m=max(math.dist(places[0], place) for place in places),
        )


class ModeTour:
    """Drives vehicle 1 of a ``Sitl`` through all modes."""

    def __init__(self, sitl):
        self.sitl = sitl
        self.rover = sitl[1]
        self.sticks = CENTRE
        self.home_m = HOME_M
        self._steps = 0
        sitl.check_every_step(self._hold_sticks)

    def run(self):
        """The whole tour; raises ``AssertionError`` at the first mode that does not drive."""
        rover = self.rover
        for name, value in PARAMETERS.items():
            rover.set_param(name, value)
        rover.arm()
        self.home_m = self._place()
        self._drive_by_sticks()
        self._stand()
        self._go_places()
        self._come_home()
        rover.disarm()
        rover.run(1.0)
        assert not rover.armed
        assert rover.modes[0] == "INITIALISING"

    def _drive_by_sticks(self):
        manual = self._stage("MANUAL", (0.5, 0.0))
        assert manual.length_m > 8.0
        for mode in ("ACRO", "STEERING"):
            way = self._stage(mode, (0.5, 0.3))
            assert way.length_m > 5.0, mode
            assert way.turned_rad > math.pi, mode

    def _stand(self):
        self._enter("HOLD")
        self.rover.run(SETTLE_S)
        held = self._drive(STAGE_S - SETTLE_S, (0.5, 0.0))
        assert held.length_m < 0.2, "sticks do nothing in HOLD"
        loiter = self._stage("LOITER")
        assert loiter.widest_m < 3.0

    def _go_places(self):
        north_m, east_m = self._place()
        self.rover.goto(north_m + 10.0, east_m)
        self._drive(STAGE_S)
        assert math.dist(self._place(), (north_m + 10.0, east_m)) < 3.0, "GUIDED"
        north_m, east_m = self._place()
        self.rover.upload_mission([(north_m, east_m + 8.0), (north_m + 40.0, east_m + 8.0)])
        self.rover.start_mission()
        auto = self._drive(STAGE_S)
        assert auto.length_m > 10.0
        assert self.rover.pilot.drain_reached() == [1]
        self._enter("CIRCLE")
        circle = self._drive(STAGE_S)
        assert circle.length_m > 10.0
        assert circle.turned_rad > math.pi

    def _come_home(self):
        for mode in ("RTL", "SMART_RTL"):
            before_m = math.dist(self._place(), self.home_m)
            way = self._stage(mode)
            assert way.length_m > 8.0, mode
            if mode == "RTL":  # the other one goes back the way it came, which may lead away
                assert math.dist(self._place(), self.home_m) < before_m - 5.0
        self._enter("HOLD")

    def _stage(self, mode, sticks=CENTRE):
        self._enter(mode)
        return self._drive(STAGE_S, sticks)

    def _enter(self, mode):
        self.rover.set_mode(mode)
        self.rover.run(0.1)
        assert self.rover.mode == mode

    def _drive(self, seconds, sticks=CENTRE):
        mode = self.rover.mode
        history = self.sitl.history.truth[1]
        before = len(history)
        self.sticks = sticks
        self.rover.run(seconds)
        self.sticks = CENTRE
        assert self.rover.mode == mode, "nothing else changed the mode"
        assert self.rover.armed
        return Way.of(history[before - 1 :])

    def _place(self):
        return self.rover.truth.north_m, self.rover.truth.east_m

    def _hold_sticks(self, sitl):
        self._steps += 1
        if self._steps % STICKS_EVERY_STEPS == 0:
            throttle, steering = self.sticks
            pulses = [1500] * 16
            pulses[0], pulses[2] = round(1500 + 500 * steering), round(1500 + 500 * throttle)
            platform = sitl.bridge.get_vehicle(1).platform
            platform.inject_rc(pulses, sitl.bridge.view.time_us)


def _yaw_rad(quat):
    w, x, y, z = quat
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
