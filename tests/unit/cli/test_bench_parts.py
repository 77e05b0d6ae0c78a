"""What the measurements are made of: shares of time, and heartbeats heard."""

import pytest
from pymavlink.dialects.v20 import all as mav

from pico_gz.cli.bench import profile_line
from pico_gz.cli.tools.bench.figures import PREFIX, Figure, shares
from pico_gz.cli.tools.bench.heartbeats import frames, longest_gap_s
from pico_gz.core.frames import LocalFrame, euler_from_quat


def test_shares_are_by_package_and_add_up():
    def work():
        for _ in range(2000):
            euler_from_quat((1.0, 0.0, 0.0, 0.0))
        return sorted(range(1000))

    found = shares(work)
    assert f"{PREFIX}core" in found
    assert sum(found.values()) == pytest.approx(100.0, abs=5.0)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_methods_count_for_the_package_that_defines_their_class():
    frame = LocalFrame(47.0, 8.0)

    def work():
        for _ in range(2000):
            frame.geodetic_from_ned(1.0, 2.0, 3.0)

    found = shares(work)
    assert found[f"{PREFIX}core"] > 50.0


def test_a_missed_figure_tells_where_the_time_goes():
    figure = Figure(name="a", what="A", value=1.0, unit="s", goal=2.0)
    assert profile_line(figure) == ""
    explained = Figure(
        name="a",
        what="A",
        value=3.0,
        unit="s",
        goal=2.0,
        detail={"lost_steps": 0.0, f"{PREFIX}autopilot": 61.4, f"{PREFIX}bridge": 12.0},
    )
    assert profile_line(explained) == "autopilot 61 %, bridge 12 %"


def test_every_frame_of_a_datagram_is_heard():
    writer = mav.MAVLink(None, srcSystem=7, srcComponent=1)
    beat = mav.MAVLink_heartbeat_message(10, 3, 0, 0, 4, 3)
    text = mav.MAVLink_statustext_message(6, b"hello")
    data = b"".join(message.pack(writer) for message in (text, beat, text))
    assert list(frames(data)) == [(7, 253), (7, 0), (7, 253)]
    writer.signing.secret_key = bytes(32)
    writer.signing.sign_outgoing = True
    assert list(frames(beat.pack(writer) + beat.pack(writer))) == [(7, 0), (7, 0)]
    assert list(frames(b"noise")) == []


def test_the_longest_gap_is_between_two_beats_of_one_system():
    assert longest_gap_s({1: [0.0, 1.0, 2.0], 2: [5.0, 6.4]}) == pytest.approx(1.4)
    assert longest_gap_s({1: [3.0]}) == 0.0
