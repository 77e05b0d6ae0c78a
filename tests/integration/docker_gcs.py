"""A ground station for container tests: pymavlink, and the mission that it uploads."""

import contextlib
import os
import time
import warnings

os.environ["MAVLINK20"] = "1"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pymavlink import mavutil

LAT, LON = 356_812_360, 1_397_671_250
NORTH_10M = 900  # in units of 1e-7 degrees
AUTO = 10


@contextlib.contextmanager
def ground_station(url):
    """Connect; the other side need not be there yet."""
    link = mavutil.mavlink_connection(
        url, dialect="all", source_system=255, source_component=190, retries=20
    )
    try:
        yield link
    finally:
        link.close()


def await_message(link, kind, condition=lambda _: True, timeout_s=20.0):
    """The first message of a kind that fits."""
    end_s = time.monotonic() + timeout_s
    while (left_s := end_s - time.monotonic()) > 0:
        message = link.recv_match(type=kind, blocking=True, timeout=left_s)
        if message is not None and condition(message):
            return message
    raise AssertionError(f"no {kind} within {timeout_s} s")


def systems_heard(link, wanted, timeout_s=20.0):
    """The vehicles whose heartbeats arrive, until the wanted ones are among them."""
    heard, end_s = set(), time.monotonic() + timeout_s
    while not heard >= wanted and time.monotonic() < end_s:
        beat = link.recv_match(type="HEARTBEAT", blocking=True, timeout=1.0)
        if beat is not None:
            heard.add(beat.get_srcSystem())
    return heard


def drive_north(link, system):
    """Upload a mission of one point 10 m north, arm, AUTO; returns when it is reached."""
    items = [(LAT, LON), (LAT + NORTH_10M, LON)]
    link.mav.mission_count_send(system, 1, len(items), 0)
    while True:
        kinds = ["MISSION_REQUEST_INT", "MISSION_REQUEST", "MISSION_ACK"]
        asked = await_message(link, kinds, lambda m: m.get_srcSystem() == system)
        if asked.get_type() == "MISSION_ACK":
            assert asked.type == 0
            break
        x, y = items[asked.seq]
        link.mav.mission_item_int_send(system, 1, asked.seq, 3, 16, 0, 1, 0, 0, 0, 0, x, y, 0.0, 0)
    _command(link, system, mavutil.mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    _command(link, system, mavutil.mavlink.MAV_CMD_DO_SET_MODE, 1, AUTO)
    return await_message(
        link,
        "MISSION_ITEM_REACHED",
        lambda m: m.get_srcSystem() == system and m.seq == 1,
        timeout_s=240.0,  # at a tenth of real time, on a busy machine
    )


def _command(link, system, number, *params, timeout_s=30.0):
    """Send a command until it is accepted: a vehicle may still wait for its position."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        values = (*params, *(0,) * (7 - len(params)))
        link.mav.command_long_send(system, 1, number, 0, *values)
        answer = await_message(
            link, "COMMAND_ACK", lambda m: m.command == number and m.get_srcSystem() == system
        )
        if answer.result == 0:
            return
        time.sleep(0.5)
    raise AssertionError(f"vehicle {system} does not accept command {number}: {answer.result}")
