"""Eight ways to fail, on every sensor, the same in every run and in any fleet."""

from __future__ import annotations

import msgspec
import pytest
from sensor_rig import STEP_US, lone_suite, run, wild_motion

from pico_gz.core.messages import SensorData
from pico_gz.errors import ConfigError
from pico_gz.simulator.faults import UNITS, FailureKind
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_setup import RangefinderSetup, SensorSetup

SETUP = SensorSetup(
    vehicle_id=1, rangefinders=(RangefinderSetup(),), battery_rate_hz=50.0, range_rate_hz=50.0
)
KINDS = [kind.value for kind in FailureKind]
STEPS = 300


class Nearby:
    def cast(self, north_m, east_m, dir_n, dir_e, max_m, skip_vehicle):
        return abs(dir_n) + 0.5


def drive(unit: str = "", kind: str = "ok", setup: SensorSetup = SETUP) -> list[SensorData]:
    """Return a run in which a unit fails at step 101."""
    suite = lone_suite(setup, scene=Nearby())
    told = list(run(suite, 100, lambda step: wild_motion(1, step)))
    if unit:
        suite.set_failure(unit, kind)
    told += run(suite, STEPS, lambda step: wild_motion(1, 100 + step), start_us=100 * STEP_US)
    return told


def parts_of(unit: str, samples: list[SensorData]) -> list:
    """Return what the unit told, ``None`` where nothing."""
    found = UNITS[unit]
    wholes = [getattr(sample, found.field) for sample in samples]
    return [None if whole is None else found.read(whole) for whole in wholes]


@pytest.fixture(scope="module")
def healthy() -> list[SensorData]:
    return drive()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_failure_touches_its_own_sensor_only(unit: str, kind: str, healthy) -> None:
    told = drive(unit, kind)
    assert told[:100] == healthy[:100]
    for ill, well in zip(told, healthy, strict=True):
        for name in SensorData.__struct_fields__:
            if name != UNITS[unit].field:
                assert getattr(ill, name) == getattr(well, name)
    if kind == "ok":
        assert told == healthy
    else:
        assert parts_of(unit, told) != parts_of(unit, healthy)


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_what_each_kind_means(unit: str, healthy) -> None:
    true = parts_of(unit, healthy)[100:]
    half = UNITS[unit].is_half

    def told(kind: str) -> list:
        return parts_of(unit, drive(unit, kind))[100:]

    assert set(told("off")) == {(0.0, 0.0, 0.0) if half else None}
    stuck = [part for part in told("stuck") if part is not None]
    assert len({msgspec.json.encode(part) for part in stuck}) == 1
    assert stuck[0] == next(part for part in true if part is not None)
    assert len(stuck) == sum(part is not None for part in true)
    for kind in ("wrong", "garbage"):
        for bad, good in zip(told(kind), true, strict=True):
            assert (bad is None) == (good is None)
            assert bad is None or bad != good
    if not half:
        samples = sum(part is not None for part in true)
        assert sum(part is not None for part in told("slow")) == samples // 10
        late, delay = told("delayed"), 50
        assert late[delay:] == true[:-delay]
        assert set(late[:delay]) == {None}
        heard = [part for part in told("intermittent") if part is not None]
        assert 0 < len(heard) < samples


def test_half_an_imu_repeats_what_it_last_told(healthy) -> None:
    true = parts_of("gyro", healthy)[100:]
    slow = parts_of("gyro", drive("gyro", "slow"))[100:]
    assert slow[:9] == [true[0]] * 9
    assert slow[9:19] == [true[9]] * 10
    late = parts_of("gyro", drive("gyro", "delayed"))[100:]
    assert late[:50] == [true[0]] * 50
    assert late[50:] == true[:-50]


def test_a_whole_imu_can_be_switched_off() -> None:
    told = drive("imu", "off")
    assert told[99].imu is not None
    assert {sample.imu for sample in told[100:]} == {None}


def test_repair() -> None:
    suite = lone_suite(SETUP, scene=Nearby())
    suite.set_failure("compass", "off")
    assert all(s.compass is None for s in run(suite, 50, Motion()))
    suite.set_failure("compass", "ok")
    after = list(run(suite, 50, Motion(), start_us=50 * STEP_US))
    assert sum(s.compass is not None for s in after) == 25


@pytest.mark.parametrize("kind", KINDS[1:])
def test_failures_survive_a_snapshot(kind: str) -> None:
    def ill():
        suite = lone_suite(SETUP, scene=Nearby())
        for unit in UNITS:
            suite.set_failure(unit, kind)
        suite.set_parameter("ACC1_BIAS_X", 0.5)
        return suite

    whole, first, second = ill(), ill(), lone_suite(SETUP, scene=Nearby())
    expected = list(run(whole, 200, lambda step: wild_motion(1, step)))
    told = list(run(first, 77, lambda step: wild_motion(1, step)))
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(first.save()))
    second.load(state)
    told += run(second, 123, lambda step: wild_motion(1, 77 + step), start_us=77 * STEP_US)
    assert told == expected


def test_bias_parameters_add_to_the_imu() -> None:
    plain, biased = lone_suite(SETUP), lone_suite(SETUP)
    biased.set_parameter("SIM_ACC1_BIAS_Y", 0.5)
    biased.set_parameter("SIM_GYR1_BIAS_Z", -0.1)
    a, b = (next(run(suite, 1, Motion())).imu for suite in (plain, biased))
    assert b.accel_mss[1] - a.accel_mss[1] == pytest.approx(0.5)
    assert b.gyro_rads[2] - a.gyro_rads[2] == pytest.approx(-0.1)
    biased.set_parameter("SIM_ACCEL1_FAIL", 3.0)
    assert next(run(biased, 1, Motion(), start_us=STEP_US)).imu.accel_mss == (3.0, 3.0, 3.0)


def test_unknown_words_are_refused_with_a_hint() -> None:
    suite = lone_suite(SETUP)
    with pytest.raises(ConfigError, match="Unknown sensor 'gsp'") as caught:
        suite.set_failure("gsp", "off")
    assert "gps" in caught.value.hint
    with pytest.raises(ConfigError, match="Unknown failure 'of'") as caught:
        suite.set_failure("gps", "of")
    assert caught.value.hint == "Did you mean 'off'?"
