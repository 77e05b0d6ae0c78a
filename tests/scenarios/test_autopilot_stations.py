"""RTL, CIRCLE and LOITER, judged on truth with the GPS error of that instant removed."""

import pytest
from driving import Drive, distance

from pico_gz.core.ground_control import Mode, Result

SKID, CAR = "pico_trail_freenove", "pico_trail_ackermann"
CASES = [(SKID, "typical", 1), (SKID, "typical", 2), (CAR, "typical", 3)]
MORE_CASES = [
    (preset, noise, seed)
    for preset in (SKID, CAR)
    for noise, seeds in (("off", [1]), ("typical", range(1, 21)))
    for seed in seeds
    if (preset, noise, seed) not in CASES
]
WP_RADIUS_M = 2.0
LOIT_RADIUS_M = 2.0
CIRCLE_M = 10.0


def check_stations(preset, noise, seed):
    drive = Drive(preset, noise, seed, params={"CIRC_RADIUS": CIRCLE_M}).ready()
    check_rtl(drive)
    check_circle(drive)
    check_loiter(drive)


def check_rtl(drive):
    home = drive.local((0.0, 0.0))
    lat, lon, _ = drive.frame.geodetic_from_ned(12.0, 8.0, 0.0)
    target = round(lat * 1e7), round(lon * 1e7)
    assert drive.autopilot.guided.to_global(*target, change_mode=True) is Result.ACCEPTED
    assert drive.run_until(lambda: "Target reached" in drive.texts, 60.0)
    assert drive.autopilot.set_mode(Mode.RTL) is Result.ACCEPTED
    assert drive.run_until(lambda: "Reached destination" in drive.texts, 60.0)
    drive.run(3.0)
    assert distance(drive.believed_place, home) <= WP_RADIUS_M


def check_circle(drive):
    assert drive.autopilot.set_mode(Mode.CIRCLE) is Result.ACCEPTED
    center = drive.local(drive.autopilot._rover.modes.current.circle.center)
    drive.run(15.0)
    radii = []
    drive.run(95.0, lambda: radii.append(distance(drive.believed_place, center)))
    assert min(radii) >= 0.9 * CIRCLE_M
    assert max(radii) <= 1.1 * CIRCLE_M


def check_loiter(drive):
    assert drive.autopilot.set_mode(Mode.LOITER) is Result.ACCEPTED
    station = drive.local(drive.autopilot._rover.modes.current.station.target)
    away = []
    drive.run(300.0, lambda: away.append(distance(drive.believed_place, station)))
    assert max(away) <= LOIT_RADIUS_M


@pytest.mark.parametrize(("preset", "noise", "seed"), CASES)
def test_rtl_circle_loiter(preset, noise, seed):
    check_stations(preset, noise, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "noise", "seed"), MORE_CASES)
def test_rtl_circle_loiter_more_seeds(preset, noise, seed):
    check_stations(preset, noise, seed)
