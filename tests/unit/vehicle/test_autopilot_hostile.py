"""Hostile ground commands: nothing is raised, disarmed stays neutral, snapshots stay possible."""

from operator import attrgetter

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rover_world import World

from pico_gz.core.ground_control import MissionItem, MissionResult, MissionType, Mode

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, width=32)
ANY_INT32 = st.integers(-(2**31), 2**31 - 1)

ITEM = st.builds(
    MissionItem,
    seq=st.integers(0, 65535),
    command=st.sampled_from([16, 17, 18, 19, 20, 112, 177, 178, 179, 194, 5001, 5003, 5100, 9]),
    frame=st.integers(0, 25),
    param1=ANY_FLOAT,
    param2=ANY_FLOAT,
    param3=ANY_FLOAT,
    param4=ANY_FLOAT,
    lat_e7=ANY_INT32,
    lon_e7=ANY_INT32,
    alt_m=ANY_FLOAT,
)

CALLS = st.one_of(
    st.tuples(st.just("set_mode"), st.tuples(st.integers(-1, 300))),
    st.tuples(st.just("params.set"), st.tuples(st.sampled_from(["WP_SPEED", "X"]), ANY_FLOAT)),
    st.tuples(st.just("set_home"), st.tuples(ANY_INT32, ANY_INT32, ANY_FLOAT)),
    st.tuples(st.just("guided.to_global"), st.tuples(ANY_INT32, ANY_INT32)),
    st.tuples(st.just("guided.to_local"), st.tuples(ANY_FLOAT, ANY_FLOAT)),
    st.tuples(st.just("guided.velocity"), st.tuples(st.tuples(ANY_FLOAT, ANY_FLOAT))),
    st.tuples(st.just("guided.heading"), st.tuples(ANY_FLOAT, ANY_FLOAT, ANY_FLOAT)),
    st.tuples(
        st.just("manual_control"), st.tuples(ANY_FLOAT, ANY_FLOAT, ANY_FLOAT, ANY_FLOAT, ANY_INT32)
    ),
    st.tuples(
        st.just("rc_override"),
        st.tuples(st.dictionaries(st.integers(-2, 20), st.integers(0, 65535), max_size=4)),
    ),
    st.tuples(st.just("change_speed"), st.tuples(ANY_FLOAT)),
    st.tuples(st.just("missions.set_current"), st.tuples(ANY_INT32)),
    st.tuples(st.just("start_mission"), st.tuples(ANY_INT32)),
    st.tuples(st.just("calibrate"), st.tuples(st.lists(ANY_FLOAT, max_size=7))),
)

_world = World(params={"FS_THR_ENABLE": 0.0}).ready()
RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@RELAXED
@given(st.lists(CALLS, max_size=6))
def test_commands_never_raise(calls):
    _world.autopilot.arm(force=True)
    for name, arguments in calls:
        attrgetter(name)(_world.autopilot)(*arguments)
        _world.run(0.06)
    _world.autopilot.telemetry()
    msgspec.msgpack.encode(_world.autopilot.save_state())
    _world.autopilot.disarm()
    _world.run(0.04)
    assert _world.platform.collect_actuator_commands().motors == (0.0, 0.0)


@RELAXED
@given(st.sampled_from(list(MissionType)), st.lists(ITEM, max_size=5), st.booleans())
def test_item_lists_never_raise(kind, items, in_order):
    pilot = _world.autopilot
    if in_order:
        items = [msgspec.structs.replace(item, seq=seq) for seq, item in enumerate(items)]
    before = pilot.missions.items(kind)
    result = pilot.missions.replace(kind, items)
    if result is not MissionResult.ACCEPTED:
        assert pilot.missions.items(kind) == before
    pilot.arm(force=True)
    pilot.set_mode(Mode.AUTO)
    _world.run(0.2)
    msgspec.msgpack.encode(pilot.save_state())
    pilot.missions.clear(kind)
    pilot.disarm()
