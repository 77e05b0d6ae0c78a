"""Gazebo's lines: which are shown, which end a start."""

import logging

import pytest

from pico_gz.gazebo.server import TAIL_LINES, GazeboOutput

NO_PLUGIN = (
    "[Err] [SystemLoader.cc:92] Failed to load system plugin [ArduPilotPlugin] : "
    "couldn't find shared library."
)


@pytest.fixture
def output(caplog):
    caplog.set_level(logging.WARNING)
    return GazeboOutput()


def test_a_missing_plugin_is_fatal_and_says_what_to_do(output):
    output.take(NO_PLUGIN)
    assert "ArduPilotPlugin" in output.problem
    assert "PICO_GZ_PLUGIN_PATH" in output.hint


@pytest.mark.parametrize(
    ("line", "is_fatal"),
    [
        ("[Err] [ArduPilotPlugin.cc:1100] [r] failed to bind with 127.0.0.1:9002", True),
        ("Failed to load system plugin: (Reason: No plugins) [gz-sim-imu-system]", True),
        ("[Err] [SystemLoader.cc:92] Failed to load system plugin [gz-sim-sensors-system]", False),
        ("[Err] [Mesh.cc:1] Failed to load mesh", False),
        ("[Wrn] [Physics.cc:3] something odd", False),
    ],
)
def test_what_is_fatal(output, line, is_fatal):
    output.take(line)
    assert bool(output.problem) is is_fatal
    assert bool(output.hint) is is_fatal


@pytest.mark.parametrize(
    "line",
    [
        "[Err] [RenderEngineManager.cc:495] Failed to load plugin [ogre2] : couldn't find it.",
        "[Err] [RenderUtil.cc:2636] Engine [ogre2] is not supported. Loading OGRE2 instead.",
        "[Err] [Ogre2RenderEngine.cc:1] Unable to open display: :0",
    ],
)
def test_a_missing_render_engine_explains_the_crash_that_follows(output, line):
    """Another engine may do, so it is no reason to end a Gazebo that runs."""
    output.take(line)
    output.take("Segmentation fault (Address not mapped to object [(nil)])")
    assert output.problem is None
    assert "needs a render engine" in output.hint


def test_a_problem_goes_before_a_missing_render_engine(output):
    output.take("[Err] Failed to load plugin [ogre2] : couldn't find shared library.")
    output.take(NO_PLUGIN)
    output.take("[Err] Failed to load plugin [ogre2] : couldn't find shared library.")
    assert "PICO_GZ_PLUGIN_PATH" in output.hint


def test_the_first_problem_stays(output):
    output.take(NO_PLUGIN)
    output.take("failed to bind with 127.0.0.1:9002")
    assert "ArduPilotPlugin" in output.problem


def test_errors_are_shown_once_without_colours_and_warnings_are_not(output, caplog):
    for _ in range(3):
        output.take("\x1b[1;31m[Err] [Server.cc:1] it is broken\x1b[0m\n")
    output.take("[Wrn] never mind")
    output.take("")
    assert [record.getMessage() for record in caplog.records] == [
        "Gazebo: [Err] [Server.cc:1] it is broken"
    ]


def test_a_flood_of_different_errors_is_cut_off(output, caplog):
    for number in range(100):
        output.take(f"[Err] number {number}")
    assert len(caplog.records) == 20


def test_the_last_lines_are_kept(output):
    for number in range(100):
        output.take(f"line {number}")
    assert len(output.tail()) == TAIL_LINES
    assert output.tail()[-1] == "line 99"
