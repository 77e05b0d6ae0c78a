from __future__ import annotations

from pathlib import Path

import pytest

from pico_gz.core.ports import rc_port
from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.rc import check_rc_spec, open_rc_source
from pico_gz.vehicle.rc.feeds import ScriptRcSource, parse_script

SCRIPT = """
# time_s  ch1   ch2   ch3
0.1       1500  1500  1500
0.5       1500  -     1700     # "-" leaves a channel as it was
1.0       1800
1.5       lost
2.0       1500  1500  1500
"""


def source(text: str = SCRIPT) -> ScriptRcSource:
    return ScriptRcSource(parse_script(text.splitlines()))


def first_channels(script: ScriptRcSource, now_us: int) -> tuple[int, ...] | None:
    channels = script.poll(now_us)
    return None if channels is None else tuple(channels[:4])


def test_lines_hold_from_their_time_on() -> None:
    script = source()
    assert first_channels(script, 0) is None
    assert first_channels(script, 100_000) == (1500, 1500, 1500, 0)
    assert first_channels(script, 499_999) == (1500, 1500, 1500, 0)
    assert first_channels(script, 520_000) == (1500, 1500, 1700, 0)
    assert first_channels(script, 1_000_000) == (1800, 1500, 1700, 0)
    assert first_channels(script, 1_500_000) is None
    assert first_channels(script, 1_999_999) is None
    assert first_channels(script, 99_000_000) == (1500, 1500, 1500, 0)


def test_frames_come_every_20_ms() -> None:
    script = source()
    frames = [now_us for now_us in range(100_000, 300_000, 10_000) if script.poll(now_us)]
    assert frames == list(range(100_000, 300_000, 20_000))


def test_a_lost_link_shows_on_the_platform_as_time_that_stays() -> None:
    script, platform = source(), SitlPlatform(1)
    for now_us in range(0, 2_000_000, 10_000):
        channels = script.poll(now_us)
        if channels is not None:
            platform.inject_rc(channels, now_us)
    frame = platform.rc_read()
    assert frame is not None
    assert frame.timestamp_us == 1_480_000
    assert frame.channels_us[:3] == (1800, 1500, 1700)


def test_a_restored_script_keeps_its_rhythm() -> None:
    script, other = source(), source()
    script.poll(110_000)
    other.load_state(script.save_state())
    assert other.poll(120_000) is None
    assert other.poll(130_000) is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no line"),
        ("# only a comment", "no line"),
        ("x 1500", "line 1: 'x' is no time"),
        ("-1 1500", "is no time"),
        ("nan 1500", "is no time"),
        ("0", "0 channels"),
        ("0 " + "1500 " * 17, "17 channels"),
        ("0 1500\n0 1600", "line 2: 0 s is not after"),
        ("0 15e2", "'15e2' is no pulse width"),
        ("0 -5", "'-5' is no pulse width"),
        ("0 70000", "'70000' is no pulse width"),
        ("0 1500 lost", "'lost' is no pulse width"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_script(text.splitlines())


def test_scripts_come_from_files(tmp_path: Path) -> None:
    path = tmp_path / "sticks.txt"
    path.write_text(SCRIPT, encoding="utf-8")
    script = open_rc_source(f"script:{path}", 1)
    assert script is not None
    assert script.poll(100_000) is not None
    script.close()
    with pytest.raises(ConfigError, match="cannot be read"):
        open_rc_source(f"script:{tmp_path / 'missing.txt'}", 1)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        open_rc_source(f"script:{path}", 1)


def test_no_source_at_all() -> None:
    assert open_rc_source("none", 1) is None


@pytest.mark.parametrize("spec", ["", "keyboad", "joystick", "script:", "udp:5501", "none:x"])
def test_bad_sources_are_refused(spec: str) -> None:
    with pytest.raises(ConfigError):
        check_rc_spec(spec)


def test_ports_follow_ardupilot() -> None:
    assert [rc_port(vehicle_id) for vehicle_id in (1, 2, 255)] == [5501, 5511, 8041]
