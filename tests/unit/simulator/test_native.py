"""The native core against the Python model, value by value."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from pico_gz.core.rover_spec import PRESETS, rover_spec
from pico_gz.core.vehicle_config import NoiseProfile, Pose
from pico_gz.errors import ConfigError
from pico_gz.simulator import native_build as build
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.obstacles import Box, Disc, Wall
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain
from pico_gz.simulator.world import WindConfig, World
from tests.unit.simulator.test_models import CrawlDrive

needs_core = pytest.mark.skipif(build.load() is None, reason=f"the simulator is {build.describe()}")

HEIGHTS = [[0.05 * ((3 * n + 5 * e) % 7) for e in range(30)] for n in range(30)]
TERRAINS = (
    FlatTerrain(),
    FlatTerrain(),
    RampTerrain(12.0, 30.0),
    RampTerrain(-8.0, 80.0, 1.0, 3.0),
    HeightmapTerrain(HEIGHTS, 2.0),
)
WINDS = (
    WindConfig(),
    WindConfig(north_mps=4.0, east_mps=-2.0),
    WindConfig(gust_mps=1.5, north_mps=1.0),
    WindConfig(north_mps=-60.0, east_mps=30.0),
)
OBSTACLES = (
    Disc(north_m=3.0, east_m=0.0, radius_m=0.5),
    Box(north_m=-3.0, east_m=2.0, size_n_m=1.0, size_e_m=2.0, yaw_deg=20.0),
    Wall(north_m=-6.0, east_m=-6.0, north2_m=-6.0, east2_m=6.0),
)
CHANGES = (
    {},
    {"icr_offset_m": 0.02, "slip": 0.05},
    {"expo": 0.3, "rangefinders_deg": (0.0, 90.0)},
    {"grip_mu": 0.1, "encoder_miss": 0.1, "imu": "mpu6050", "understeer_s2pm": 0.2},
    {"imu_position_frd_m": (0.1, 0.02, -0.05), "compass_calibrated": False, "max_steer_deg": 60.0},
    {"gps": "rtk", "gps_rate_hz": 10.0, "gps_latency_ms": 250.0, "gps_first_fix_s": 0.5},
    {"max_turn_rate": 1.0, "yaw_lag_s": 0.1, "gps_rate_hz": 0.0, "gps_latency_ms": 0.0},
    {"accel_noise_mss": 0.2, "compass_noise_rad": 0.03, "gps_noise_m": 0.4, "imu_rate_hz": 33.0},
    {"range_beam_deg": 0.0, "rangefinders_deg": (30.0,), "barometer": "", "gps": ""},
    {"hold_mps2": 0.5, "coast_lag_s": float("inf"), "drag_area_m2": 0.5, "imu": ""},
    {"lag_s": 0.3, "accel_limit_mps2": 1.0, "brake_limit_mps2": 2.0, "encoder_ticks": 0},
    {"gps_latency_ms": 5000.0},  # longer than the core keeps fixes
    {"drive_model": "crawl"},
)
UNITS = ("gyro", "gps", "mag", "baro", "motor_left", "battery", "imu")
KINDS = ("off", "stuck", "wrong", "garbage", "slow", "delayed", "intermittent", "ok", "ok", "ok")
PARAMETERS = (
    ("GPS_JAM", 1.0), ("GPS_JAM", 0.0), ("GPS_NUMSATS", 3.0), ("GPS_NUMSATS", -1.0),
    ("BATT_VOLTAGE", 6.5), ("MAG1_OFS_X", 50.0), ("MAG1_OFS_X", 0.0), ("GPS_LAG_MS", 400.0),
    ("GPS_LAG_MS", 20.0), ("GPS_HZ", 1.0), ("GPS_LOCKTIME", 1.0), ("BARO_GLITCH", 3.0),
    ("BARO_GLITCH", 0.0), ("BATT_CAP_AH", 0.01),
)  # fmt: skip
COMMANDS = ((1.0, 1.0), (0.5, 0.2), (-0.7, 0.6), (0.0, 0.0), (0.03, 0.9), (-1.0, -1.0))

encode = msgspec.msgpack.Encoder().encode


class Twins:
    """The same fleet on the core and on the Python model, under the same random treatment."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        draw = self.draw
        self.world = World(
            terrain=draw.choice(TERRAINS),
            wind=draw.choice(WINDS),
            obstacles=draw.choice(((), OBSTACLES)),
            contacts=draw.random() < 0.7,
        )
        self.seed = seed
        self.added: dict[int, tuple] = {}
        self.dt_us = draw.choice((10_000, 10_000, 2_500, 50_000))
        self.saved: bytes | None = None
        self.native, self.pure = self.engine(pure=False), self.engine(pure=True)
        for _ in range(draw.choice((1, 3, 8, 25))):
            self.add()

    def engine(self, *, pure: bool) -> FleetEngine:
        models = ModelTable()
        models.add_drive("crawl", CrawlDrive)
        if pure:
            with mock.patch.object(build, "load", return_value=None):
                engine = FleetEngine(self.world, self.seed, models)
        else:
            engine = FleetEngine(self.world, self.seed, models)
        assert engine.is_native is not pure
        for vehicle_id in sorted(self.added):
            engine.add(*self.added[vehicle_id])
        return engine

    @property
    def both(self) -> tuple[FleetEngine, FleetEngine]:
        return self.native, self.pure

    def add(self) -> None:
        draw = self.draw
        vehicle_id = draw.choice([i for i in range(1, 60) if i not in self.added])
        spec = rover_spec(draw.choice(sorted(PRESETS)), draw.choice(CHANGES))
        setup = fit_sensors(spec, vehicle_id, draw.choice(list(NoiseProfile)))
        place = Pose(
            north_m=1.1 * (vehicle_id % 8) - 4.0,
            east_m=1.1 * (vehicle_id // 8) - 4.0,
            yaw_deg=draw.uniform(-180.0, 180.0),
        )
        self.added[vehicle_id] = (spec, setup, place)
        for engine in self.both:
            engine.add(*self.added[vehicle_id])

    def disturb(self) -> None:
        """Do something that happens now and then."""
        draw, some = self.draw, self.draw.choice(sorted(self.added))
        match draw.randrange(40):
            case 0:
                self.each("set_failure", some, draw.choice(UNITS), draw.choice(KINDS))
            case 1:
                self.each("set_parameter", some, *draw.choice(PARAMETERS))
            case 2:
                place = [draw.uniform(-5.0, 5.0) for _ in range(3)]
                self.each("set_pose", some, *place, self.added[some][0].max_speed * draw.random())
            case 3:
                self.dt_us = draw.choice((10_000, 2_500, 20_000, 7_000, 150_000))
            case 4:
                self.saved = encode(self.native.save_state())
                assert self.saved == encode(self.pure.save_state())
            case 5 if self.saved is not None:
                self.restart(msgspec.msgpack.decode(self.saved))
            case 6 if len(self.added) < 30:
                self.add()
                self.saved = None
            case 7 if len(self.added) > 1:
                self.each("remove", some)
                del self.added[some]
                self.saved = None
            case _ if draw.random() < 0.3:
                self.each("command", some, *draw.choice(COMMANDS))

    def each(self, name: str, *arguments) -> None:
        failed = []
        for engine in self.both:
            try:
                getattr(engine, name)(*arguments)
            except ConfigError as error:
                failed.append(str(error))
        assert len(failed) in (0, 2)

    def restart(self, state: dict) -> None:
        """Go on from a snapshot, in the same engines, in new ones, or each in the other kind."""
        if self.draw.random() < 0.5:
            self.native, self.pure = self.engine(pure=False), self.engine(pure=True)
        for engine in self.both:
            engine.load_state(state)

    def step(self) -> int:
        """Make a step of both and compare everything; returns how many vehicles there are."""
        self.disturb()
        records, expected = self.native.step(self.dt_us), self.pure.step(self.dt_us)
        if encode(records) != encode(expected):
            differ = [(a, b) for a, b in zip(records, expected, strict=True) if a != b]
            pytest.fail(f"seed {self.seed}, {self.pure.time_us} us: {differ[:1]}", pytrace=False)
        assert encode(list(self.native.truth().values())) == encode(
            list(self.pure.truth().values())
        ), f"seed {self.seed}, {self.pure.time_us} us"
        assert self.native.drain_contacts() == self.pure.drain_contacts(), f"seed {self.seed}"
        return len(self.added)


def compare(vehicle_steps: int, first_seed: int) -> None:
    """Random fleets until so many vehicle-steps were equal."""
    seed = first_seed
    while vehicle_steps > 0:
        twins = Twins(seed)
        for _ in range(300):
            vehicle_steps -= twins.step()
        assert encode(twins.native.save_state()) == encode(twins.pure.save_state())
        seed += 1


@needs_core
@pytest.mark.parametrize("part", range(4))
def test_a_hundred_thousand_vehicle_steps_are_equal(part):
    compare(25_000, 1_000 * part)


@needs_core
@pytest.mark.parametrize("seed", [1_002_102])
def test_fleets_that_once_differed_are_equal(seed):
    twins = Twins(seed)
    for _ in range(300):
        twins.step()


@needs_core
@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_million_vehicle_steps_are_equal_and_ten_million_by_the_soak():
    compare(10_000_000 if "PICO_GZ_SOAK_S" in os.environ else 1_000_000, 1_000_000)


@needs_core
def test_contraction_would_be_noticed(tmp_path):
    fused = tuple(f for f in build.FLAGS if f != "-ffp-contract=off")
    flags = (*fused, "-ffp-contract=fast", "-march=native")
    try:
        made = build.build(flags, tmp_path / "_core-fused.so")
    except OSError as error:
        pytest.skip(f"no compiler that knows this machine: {error}")
    if "fma" not in _cpu_flags():
        pytest.skip("this processor has no fused multiply-add")
    build.load.cache_clear()
    try:
        with (
            mock.patch.object(build, "library_path", return_value=made),
            pytest.raises((AssertionError, pytest.fail.Exception)),
        ):
            compare(20_000, 0)
    finally:
        build.load.cache_clear()


def _cpu_flags() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text().split() if info.exists() else []


@needs_core
def test_records_that_are_kept_stay_as_they_were():
    engine, spec = FleetEngine(World(), seed=1), rover_spec()
    for vehicle_id in (1, 2):
        engine.add(spec, fit_sensors(spec, vehicle_id), Pose(east_m=3.0 * vehicle_id))
    kept = engine.advance(10_000)
    first = kept[1]
    engine.advance(10_000)
    engine.remove(2)
    engine.advance(10_000)
    assert kept[1] is first
    assert [kept[i].timestamp_us for i in kept] == [10_000, 10_000]
    assert len(kept) == 2


def asked(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return (done.stdout + done.stderr).strip()


DESCRIBE = "from pico_gz.simulator.native_build import describe; print(describe())"


def test_the_core_can_be_switched_off():
    assert asked(DESCRIBE, PICO_GZ_PURE="1") == "pure (PICO_GZ_PURE is set)"


def test_without_a_compiler_one_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, "library_path", lambda: tmp_path / "_core-none.so")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.main() == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no C compiler" in said


def test_a_compiler_that_fails_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, "library_path", lambda: tmp_path / "_core-none.so")
    monkeypatch.setenv("CC", "false")
    assert build.main() == 0
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def foreign_core(folder: Path, monkeypatch) -> Path:
    """The core of these sources, made for another machine."""
    core = folder / "_core-foreign.so"
    core.write_bytes(b"\xcf\xfa\xed\xfe not for here")
    monkeypatch.setattr(build, "library_path", lambda: core)
    monkeypatch.setattr(build, "HERE", folder)
    monkeypatch.delenv("PICO_GZ_PURE", raising=False)
    return core


@pytest.mark.skipif(build.compiler() is None, reason="not checked: there is no C compiler here")
def test_a_core_of_another_machine_is_built_again(tmp_path, monkeypatch, capsys):
    core = foreign_core(tmp_path, monkeypatch)
    assert build.main() == 0
    assert capsys.readouterr().err == "Built the native core of the simulator.\n"
    assert core.read_bytes()[:4] != b"\xcf\xfa\xed\xfe"
    made = core.stat().st_mtime_ns
    assert build.main() == 0  # nothing to do
    assert (core.stat().st_mtime_ns, capsys.readouterr().err) == (made, "")


def test_without_a_compiler_a_core_of_another_machine_is_not_used(
    tmp_path, monkeypatch, capsys, caplog
):
    foreign_core(tmp_path, monkeypatch)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.main() == 0
    assert capsys.readouterr().err.count("\n") == 1
    build.load.cache_clear()
    try:
        assert build.describe() == "pure (the compiled core does not fit this machine)"
    finally:
        build.load.cache_clear()
    assert len(caplog.records) == 1


def test_a_stale_core_is_not_used(tmp_path, monkeypatch, caplog):
    (tmp_path / "_core-0123456789abcdef.so").write_bytes(b"old")
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.delenv("PICO_GZ_PURE", raising=False)
    build.load.cache_clear()
    try:
        assert build.load() is None
        assert "stale" in build.describe()
    finally:
        build.load.cache_clear()
    assert len(caplog.records) == 1


@needs_core
def test_records_that_are_read_late_are_those_of_their_step():
    engines = FleetEngine(World(), 3), FleetEngine(World(), 3)
    for engine in engines:
        engine.add(rover_spec(), fit_sensors(rover_spec(), 1, NoiseProfile.TYPICAL), Pose())
    late, expected = (engine.advance(10_000) for engine in engines)
    wanted = encode(expected[1])
    engines[0].set_pose(1, 5.0, 5.0, 0.0)
    assert encode(late[1]) == wanted
