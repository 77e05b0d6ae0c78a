"""A replay shows who was in trouble at the time that is shown."""

import pytest

from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.replay import Replay


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Rover 2 has no GPS from 12 s to 45 s."""
    fleet = default_fleet(overrides=FleetOverrides(rovers=2, adapter="lightweight", speed="max"))
    options = RunOptions(
        demo=True,
        record_dir=tmp_path_factory.mktemp("runs"),
        mavlink=False,
        control=False,
        check_ports=False,
    )
    with FleetRun(fleet, options) as run:
        run.bridge.step(1200)
        run.fail(2, "gps", "garbage")
        run.bridge.step(3300)
        live = run.health.troubles[2]
        run.fail(2, "gps", "ok")
        run.bridge.step(1500)
        folder = run.result().recording
    return folder, live


def troubles_at(replay, time_s):
    replay.seek(int(time_s * 1e6))
    replay.health.look(replay.bridge.view)
    return replay.health.troubles


def test_a_replay_finds_what_the_run_found(recording):
    folder, live = recording
    with Replay(folder) as replay:
        replay.bridge.step()
        assert troubles_at(replay, 5.0) == {}
        found = troubles_at(replay, 44.9)
        assert set(found) == {2}
        assert {(t.kind, t.why) for t in found[2]} == {(t.kind, t.why) for t in live}
        for then, now in zip(live, found[2], strict=True):
            assert now.since_us == pytest.approx(then.since_us, abs=300_000)
        assert troubles_at(replay, 59.0) == {}
        assert {t.kind for t in troubles_at(replay, 14.0)[2]} == {"failure", "no_fix"}
        assert troubles_at(replay, 5.0) == {}


def test_a_replay_that_is_held_follows_a_jump(recording):
    folder, _ = recording
    with Replay(folder) as replay:
        replay.bridge.step()
        replay.bridge.pause()
        replay.seek(44_000_000)
        replay.health.while_idle(0)
        assert replay.handle().troubles()[2][0].kind == "failsafe"
