"""Parameters: ArduRover's defaults, range checks, what is told to the ground."""

import math

import pytest

from pico_gz.core.ground_control import ParamType
from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError
from pico_gz.simulator.sim_parameters import MODEL_PARAMETERS, SAMPLE_PARAMETERS
from pico_gz.vehicle.autopilot.context import RoverContext
from pico_gz.vehicle.autopilot.parameter_table import PARAMETERS
from pico_gz.vehicle.autopilot.parameters import ParamStore, allowed, preset_params
from pico_gz.vehicle.platform.platform import SitlPlatform


def changed(store):
    """What a parameter file would have to keep."""
    return {name: value for name, value in store.values.items() if value != store.base[name]}


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("CRUISE_SPEED", 2), ("CRUISE_THROTTLE", 50), ("ATC_SPEED_P", 0.2), ("ATC_STR_RAT_FF", 0.2),
        ("ATC_STR_RAT_MAX", 120), ("ATC_TURN_MAX_G", 0.6), ("TURN_RADIUS", 0.9), ("WP_RADIUS", 2),
        ("WP_PIVOT_ANGLE", 60), ("LOIT_RADIUS", 2), ("CIRC_RADIUS", 20), ("PSC_POS_P", 0.2),
        ("MOT_SLEWRATE", 100), ("MOT_STR_THR_MIX", 0.5), ("FS_ACTION", 2), ("FS_TIMEOUT", 1.5),
        ("FS_THR_VALUE", 910), ("FS_GCS_ENABLE", 0), ("FS_EKF_THRESH", 0.8), ("FENCE_RADIUS", 300),
        ("BATT_LOW_TIMER", 10), ("BATT_CAPACITY", 3300), ("SYSID_MYGCS", 255), ("SR0_PARAMS", 10),
        ("SR0_POSITION", 1), ("MODE_CH", 8),
    ],
)  # fmt: skip
def test_defaults_are_ardurovers(name, default):
    assert ParamStore().values[name] == default


def test_every_default_is_allowed_and_every_name_fits_mavlink():
    assert [spec.name for spec in PARAMETERS.values() if not allowed(spec, spec.default)] == []
    assert [name for name in PARAMETERS if len(name) > 16 or not name.isascii()] == []
    assert [name for name, spec in PARAMETERS.items() if name != spec.name] == []


def test_the_sensor_switches_of_the_simulator_are_parameters_and_no_others():
    """A parameter that nobody listens to would be accepted and do nothing."""
    known = {f"SIM_{name}" for name in (*SAMPLE_PARAMETERS, *MODEL_PARAMETERS)}
    known |= {"SIM_RC_FAIL"}  # the run's own
    assert {name for name in PARAMETERS if name.startswith("SIM_")} == known


def test_indexes_have_no_holes():
    store = ParamStore()
    infos = [store.by_index(index) for index in range(store.count())]
    assert [info.index for info in infos] == list(range(store.count()))
    assert len({info.name for info in infos}) == store.count()
    assert store.by_index(store.count()) is None
    assert store.by_index(-1) is None
    assert store.by_name(infos[7].name) == infos[7]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRUISE_SPEED", math.nan), ("CRUISE_SPEED", math.inf), ("CRUISE_SPEED", -1.0),
        ("CRUISE_SPEED", 101.0), ("FS_ACTION", 6.0), ("FS_ACTION", 1.5), ("NO_SUCH", 1.0),
    ],
)  # fmt: skip
def test_impossible_values_change_nothing(name, value):
    store = ParamStore()
    before = dict(store.values)
    held = store.set(name, value)
    assert (held and held.value) == before.get(name)
    assert store.values == before
    assert store.drain_changes() == []


def test_changes_are_told_once_in_order():
    store = ParamStore()
    store.set("WP_SPEED", 3.0)
    store.set("CRUISE_SPEED", 3.0)
    store.set("WP_SPEED", 4.0)
    told = store.drain_changes()
    assert [(info.name, info.value) for info in told] == [("WP_SPEED", 4.0), ("CRUISE_SPEED", 3.0)]
    assert told[0].type is ParamType.REAL32
    assert store.drain_changes() == []


def test_reset_goes_back_to_preset_and_fleet_file():
    store = ParamStore({"WP_SPEED": 0.7})
    store.set("WP_SPEED", 3.0)
    assert changed(store) == {"WP_SPEED": 3.0}
    store.reset()
    assert store.values["WP_SPEED"] == 0.7
    assert changed(store) == {}


def test_reset_reaches_the_simulator_too():
    store = ParamStore()
    store.set("SIM_GPS_DISABLE", 1.0)
    assert store.drain_sim_changes() == {"SIM_GPS_DISABLE": 1.0}
    store.reset()
    assert store.drain_sim_changes() == {"SIM_GPS_DISABLE": 0.0}


def test_what_only_reports_cannot_be_set():
    store = ParamStore({"SYSID_THISMAV": 3})
    store.note("MIS_TOTAL", 4)
    assert store.set("SYSID_THISMAV", 77.0).value == 3
    assert store.set("MIS_TOTAL", 0.0).value == 4
    # A parameter file that is loaded as a whole carries them unchanged.
    assert store.set("SYSID_THISMAV", 3.0).value == 3
    assert (store.values["SYSID_THISMAV"], store.values["MIS_TOTAL"]) == (3, 4)
    assert changed(store) == {}


def test_unknown_override_offers_the_nearest_name():
    with pytest.raises(ConfigError) as caught:
        ParamStore({"CRUISE_SPED": 1.0})
    assert "CRUISE_SPEED" in caught.value.hint


def test_override_out_of_range_is_refused():
    with pytest.raises(ConfigError, match="FS_ACTION cannot be 9"):
        ParamStore({"FS_ACTION": 9})


@pytest.mark.parametrize("preset", PRESETS)
def test_every_rover_preset_has_parameters(preset):
    store = ParamStore(preset_params(preset))
    expected = {"ardupilot_skid": 3.0, "ardupilot_car": 5.0}.get(preset, 0.7)
    assert store.values["CRUISE_SPEED"] == store.values["WP_SPEED"] == expected


def test_unknown_preset():
    with pytest.raises(ConfigError) as caught:
        preset_params("ardupilot_skit")
    assert "ardupilot_skid" in caught.value.hint


def test_state_round_trip():
    store = ParamStore({"WP_SPEED": 0.7})
    store.set("WP_SPEED", 3.0)
    other = ParamStore()
    other.load_state(store.save_state())
    assert other.values == store.values
    assert changed(other) == {"WP_SPEED": 3.0}


def test_the_control_loop_uses_a_changed_parameter_at_once():
    rover = RoverContext({"MOT_SLEWRATE": 0.0}, DriveKind.SKID, None)
    rover.outputs.claim(SitlPlatform(1))
    before = rover.params.save_state()
    rover.params.set("ATC_STR_RAT_MAX", 90.0)
    assert rover.turn.rate_limit_radps == math.radians(90.0)
    rover.params.set("WP_SPEED", 1.25)
    assert rover.waypoint_speed_mps() == 1.25
    rover.params.set("SERVO1_TRIM", 1510.0)
    rover.outputs.neutral()
    assert rover.outputs._first.pwm.pulse_us() == 1510
    rover.params.reset()
    assert (rover.waypoint_speed_mps(), rover.turn.rate_limit_radps) == (2.0, math.radians(120.0))
    rover.params.set("ATC_DECEL_MAX", 3.0)
    assert rover.speed.decel_mps2 == 3.0
    rover.params.load_state(before)
    assert rover.speed.decel_mps2 == 1.0
    rover.params.note("CRUISE_SPEED", 0.5)
    rover.params.set("WP_SPEED", 0.0)
    assert rover.waypoint_speed_mps() == 0.5
