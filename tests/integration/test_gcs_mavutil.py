"""pymavlink's own client against a fleet on real sockets, three vehicles at a time."""

import contextlib
import math
import os
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

os.environ["MAVLINK20"] = "1"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pymavlink import mavutil

from gcs_support import LOOPBACK, FleetThread, eventually, free_ports

from pico_gz.core.ground_control import MissionType, Mode
from pico_gz.core.ports import Link, LinkKind
from pico_gz.run.config import load_fleet
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions

mav = mavutil.mavlink
LAT, LON = 356_812_360, 1_397_671_250


@contextlib.contextmanager
def client(url, *, system=None, **kwargs):
    """A connected client that has seen a heartbeat (of one system, if given)."""
    link = mavutil.mavlink_connection(
        url, dialect="all", source_system=255, source_component=190, **kwargs
    )
    try:
        beat = await_message(link, "HEARTBEAT", lambda m: system in (None, m.get_srcSystem()))
        link.target_system, link.target_component = beat.get_srcSystem(), 1
        yield link
    finally:
        link.close()


def await_message(link, kind, condition=lambda _: True, timeout_s=5.0):
    end_s = time.monotonic() + timeout_s
    while (left_s := end_s - time.monotonic()) > 0:
        message = link.recv_match(type=kind, blocking=True, timeout=left_s)
        if message is not None and condition(message):
            return message
    raise AssertionError(f"no {kind} within {timeout_s} s")


def command(link, number, *params, system=None):
    params = (*params, *(0,) * (7 - len(params)))
    link.mav.command_long_send(system or link.target_system, 1, number, 0, *params)
    return await_message(link, "COMMAND_ACK", lambda m: m.command == number).result


def all_params(link, system):
    link.mav.param_request_list_send(system, 1)
    values = {}
    while True:
        m = await_message(link, "PARAM_VALUE", lambda m: m.get_srcSystem() == system)
        values[m.param_id] = m.param_value
        if len(values) == m.param_count:
            return values


def upload(link, system, items, kind=0):
    link.mav.mission_count_send(system, 1, len(items), kind)
    while True:
        m = await_message(link, ["MISSION_REQUEST_INT", "MISSION_REQUEST", "MISSION_ACK"])
        if m.get_type() == "MISSION_ACK":
            return m.type
        command_id, x, y = items[m.seq]
        link.mav.mission_item_int_send(
            system, 1, m.seq, 3, command_id, 0, 1, 0, 0, 0, 0, x, y, 0.0, kind
        )


def download(link, system, kind=0):
    link.mav.mission_request_list_send(system, 1, kind)
    count = await_message(link, "MISSION_COUNT").count
    items = []
    for seq in range(count):
        link.mav.mission_request_int_send(system, 1, seq, kind)
        m = await_message(link, "MISSION_ITEM_INT", lambda m, seq=seq: m.seq == seq)
        items.append((m.command, m.x, m.y))
    link.mav.mission_ack_send(system, 1, 0, kind)
    return items


SQUARE = [(16, LAT, LON), *((16, LAT + dx, LON + dy) for dx, dy in ((9, 0), (9, 9), (0, 9)))]


def test_three_vehicles_on_three_ports():
    with FleetThread(3) as run, contextlib.ExitStack() as stack:
        links = {
            n: stack.enter_context(client(f"udpin:{LOOPBACK}:{port}"))
            for n, port in enumerate(run.udp_ports, start=1)
        }
        for n, link in links.items():
            assert link.target_system == n
            items = [(16, LAT + n, LON + k) for k in range(n + 2)]
            assert upload(link, n, items) == 0
            assert download(link, n) == items
            assert all_params(link, n)["SYSID_THISMAV"] == n
            assert command(link, 400, 1) == 0
        for n, link in links.items():
            beat = await_message(link, "HEARTBEAT", lambda m: m.base_mode & 128)
            assert beat.get_srcSystem() == n
            assert link.packet_loss() == 0.0


def test_three_vehicles_on_one_tcp_port():
    with FleetThread(3, udp=False) as run, client(f"tcp:{LOOPBACK}:{run.tcp_port}") as link:
        for system in (2, 3, 1):
            await_message(link, "HEARTBEAT", lambda m, n=system: m.get_srcSystem() == n)
            assert all_params(link, system)["SYSID_THISMAV"] == system
            assert upload(link, system, SQUARE[: system + 1]) == 0
            assert command(link, 176, 1, 10 + system, system=system) in (0, 4)
        counts = [len(v.lists[MissionType.MISSION]) for v in run.vehicles.values()]
        assert counts == [2, 3, 4]
        modes = [v.mode for v in run.vehicles.values()]
        assert modes == [Mode.RTL, Mode.SMART_RTL, Mode.MANUAL]
        assert link.packet_loss() == 0.0


def test_three_vehicles_on_one_udp_port():
    with (
        FleetThread(3, shared=True) as run,
        client(f"udpin:{LOOPBACK}:{run.udp_ports[0]}") as link,
    ):
        systems = set()
        while systems != {1, 2, 3}:
            systems.add(await_message(link, "HEARTBEAT").get_srcSystem())
        assert len(link.clients) == 3
        # The client sends everything to everybody; only the one that is meant obeys.
        link.mav.command_long_send(2, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
        ack = await_message(link, "COMMAND_ACK")
        assert ack.get_srcSystem() == 2
        assert [v.armed for v in run.vehicles.values()] == [False, True, False]
        assert link.packet_loss() == 0.0


@pytest.fixture(scope="module")
def run():
    with FleetThread(
        1, extra_params=30, inject=lambda *_: None, allow_failure_injection=True
    ) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def link(run):
    with client(f"udpin:{LOOPBACK}:{run.udp_ports[0]}") as connected:
        yield connected


@pytest.fixture
def vehicle(run):
    run.vehicles[1].calls.clear()
    return run.vehicles[1]


def test_parameters(link, vehicle):
    values = all_params(link, 1)
    assert len(values) == vehicle.params.count()
    link.param_set_send("CRUISE_SPEED", 1.25)
    assert await_message(link, "PARAM_VALUE").param_value == 1.25
    link.param_fetch_one("CRUISE_SPEED")
    assert await_message(link, "PARAM_VALUE").param_value == 1.25
    link.param_fetch_one(3)
    assert await_message(link, "PARAM_VALUE").param_index == 3
    link.param_set_send("CRUISE_SPEED", 1e9)
    assert await_message(link, "PARAM_VALUE").param_value == 1.25


@pytest.mark.parametrize(("kind", "command_id"), [(0, 16), (1, 5001), (2, 5100)])
def test_missions_fences_and_rally_points(link, vehicle, kind, command_id):
    items = [(command_id, LAT + k, LON - k) for k in range(12)]
    assert upload(link, 1, items, kind) == 0
    assert download(link, 1, kind) == items
    link.mav.mission_clear_all_send(1, 1, kind)
    assert await_message(link, "MISSION_ACK").type == 0


def test_arming_and_modes(link, vehicle):
    link.arducopter_arm()
    await_message(link, "COMMAND_ACK")
    await_message(link, "HEARTBEAT", lambda m: m.base_mode & 128)
    link.set_mode("AUTO")
    await_message(link, "HEARTBEAT", lambda m: m.custom_mode == 10)
    link.set_mode_rtl()
    await_message(link, "HEARTBEAT", lambda m: m.custom_mode == 11)
    link.arducopter_disarm()
    await_message(link, "HEARTBEAT", lambda m: not m.base_mode & 128)
    assert link.mode_mapping()["RTL"] == 11


def test_commands_and_requests(link, vehicle):
    assert command(link, 31000) == 3
    link.mav.command_long_send(1, 1, 512, 0, 148, 0, 0, 0, 0, 0, 0)
    assert await_message(link, "AUTOPILOT_VERSION").flight_sw_version >> 24 == 4
    link.mav.command_long_send(1, 1, 512, 0, 435, 0, 0, 0, 0, 0, 0)
    assert await_message(link, "AVAILABLE_MODES", lambda m: m.mode_index == 11)
    link.mav.command_long_send(1, 1, 410, 0, 0, 0, 0, 0, 0, 0, 0)
    assert await_message(link, "HOME_POSITION").latitude == vehicle.home[0]
    link.mav.command_int_send(1, 1, 6, 192, 0, 0, -1, 1, 0, math.nan, LAT + 5, LON + 6, 0)
    assert await_message(link, "COMMAND_ACK", lambda m: m.command == 192).result == 0
    assert ("guide_to_global", LAT + 5, LON + 6, None, True) in vehicle.calls
    assert command(link, 420, 4, 1) == 0
    link.mav.timesync_send(0, 77)
    assert await_message(link, "TIMESYNC").ts1 == 77
    link.mav.log_request_list_send(1, 1, 0, 65535)
    assert await_message(link, "LOG_ENTRY").num_logs == 0
    payload = bytearray(251)
    payload[3] = 4
    link.mav.file_transfer_protocol_send(0, 1, 1, payload)
    assert await_message(link, "FILE_TRANSFER_PROTOCOL").payload[12] == 10


def test_inputs(link, vehicle):
    link.mav.rc_channels_override_send(1, 1, 1600, 65535, 1400, *(65535,) * 5)
    link.mav.manual_control_send(1, 0, 500, -250, 0, 0)
    link.mav.set_position_target_local_ned_send(
        0, 1, 1, 1, 0b1101_1111_1100, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    link.mav.set_position_target_global_int_send(
        0, 1, 1, 6, 0b1101_1111_1100, LAT, LON, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    link.mav.set_attitude_target_send(0, 1, 1, 7, [1, 0, 0, 0], 0, 0, 0, 0.5)
    expected = {
        "rc_override",
        "manual_control",
        "guide_to_local",
        "guide_to_global",
        "guide_heading",
    }
    assert eventually(lambda: expected <= {call[0] for call in vehicle.calls})


@pytest.mark.alone
def test_stream_rates(link, vehicle):
    link.mav.request_data_stream_send(1, 1, mav.MAV_DATA_STREAM_EXTRA1, 20, 1)
    await_message(link, "ATTITUDE")
    start_s = time.monotonic()
    for _ in range(20):
        await_message(link, "ATTITUDE")
    assert time.monotonic() - start_s == pytest.approx(1.0, abs=0.3)
    link.mav.request_data_stream_send(1, 1, mav.MAV_DATA_STREAM_EXTRA1, 1, 1)
    assert link.packet_loss() == 0.0


@pytest.mark.alone
def test_heartbeats_go_on_while_paused(run, link):
    run.paused = True
    try:
        for _ in range(2):
            await_message(link, "HEARTBEAT", timeout_s=1.5)
        while link.recv_match(blocking=False):
            pass
        assert link.recv_match(type="ATTITUDE", blocking=True, timeout=1.2) is None
        assert command(link, 512, 148) == 0
    finally:
        run.paused = False


@pytest.mark.alone
def test_a_fast_run_stays_connected():
    with (
        FleetThread(1, speed=50.0, step_us=20_000) as fast,
        client(f"udpin:{LOOPBACK}:{fast.udp_ports[0]}") as link,
    ):
        counts = {"HEARTBEAT": 0, "ATTITUDE": 0}
        end_s = time.monotonic() + 2.0
        while time.monotonic() < end_s:
            m = link.recv_match(blocking=True, timeout=0.2)
            if m is not None and m.get_type() in counts:
                counts[m.get_type()] += 1
        assert 1 <= counts["HEARTBEAT"] <= 3
        assert 5 <= counts["ATTITUDE"] <= 9


def test_further_links():
    (udp_port,) = free_ports(1)
    (tcp_port,) = free_ports(1, socket.SOCK_STREAM)
    links = [
        Link(LinkKind.UDPIN, LOOPBACK, udp_port),
        Link(LinkKind.TCPIN, LOOPBACK, tcp_port),
    ]
    with FleetThread(2, udp=False, fleet_links=links):
        out = mavutil.mavlink_connection(
            f"udpout:{LOOPBACK}:{udp_port}", dialect="all", source_system=255
        )
        out.mav.heartbeat_send(6, 8, 0, 0, 4)
        systems = {await_message(out, "HEARTBEAT").get_srcSystem() for _ in range(4)}
        out.close()
        assert systems == {1, 2}
        with client(f"tcp:{LOOPBACK}:{tcp_port}", system=2) as link:
            assert all_params(link, 2)["SYSID_THISMAV"] == 2


def test_signing_end_to_end():
    key = bytes(range(32))
    with FleetThread(1, signing_key=key) as run:
        port = run.udp_ports[0]
        link = mavutil.mavlink_connection(f"udpin:{LOOPBACK}:{port}", dialect="all")
        link.setup_signing(key, sign_outgoing=True)
        beat = link.wait_heartbeat(timeout=5)
        assert beat.get_signed()
        link.target_system = 1
        assert command(link, 400, 1) == 0
        link.disable_signing()
        link.mav.command_long_send(1, 1, 400, 0, 0, 0, 0, 0, 0, 0, 0)
        assert eventually(lambda: run.fleet.counters()["signature_refused"] > 0)
        assert run.vehicles[1].armed
        link.close()


def test_a_fleet_file_switches_signing_on(tmp_path):
    key = bytes(range(32))
    (tmp_path / "key").write_text(key.hex())
    (tmp_path / "key").chmod(0o600)
    port = free_ports(1)[0]
    (tmp_path / "signed.toml").write_text(
        f"[fleet]\ncount = 1\nadapter = 'lightweight'\n[mavlink]\nsigning_key_file = 'key'\n"
        f"[ports]\nmavlink_base = {port}\nmavlink_tcp = 0\n"
    )
    fleet = load_fleet(tmp_path / "signed.toml", environ={})
    options = RunOptions(
        record_dir=tmp_path / "runs",
        run_folder=tmp_path / "kept",
        control=False,
        check_ports=False,
    )
    link = mavutil.mavlink_connection(f"udpin:{LOOPBACK}:{port}", dialect="all")
    link.setup_signing(key, sign_outgoing=True)
    with contextlib.closing(link), FleetRun(fleet, options) as session:
        session.run(until=lambda view: view.time_us > 1_500_000)
        assert await_message(link, "HEARTBEAT").get_signed()
        assert await_message(link, "SIMSTATE").lat == pytest.approx(LAT, abs=10)
        assert any("signed" in line for line in session.connection_lines())
    kept = [path.read_bytes() for path in tmp_path.glob("runs/**/*") if path.is_file()]
    assert len(kept) >= 2
    assert not any(key in data or key.hex().encode() in data for data in kept)


def test_recordings_are_read_by_the_tools(tmp_path):
    with (
        FleetThread(2, tlog_dir=tmp_path, epoch_us=1_767_225_600_000_000) as run,
        client(f"udpin:{LOOPBACK}:{run.udp_ports[0]}") as link,
    ):
        assert command(link, 400, 1) == 0
        time.sleep(1.2)
    for n in (1, 2):
        log = mavutil.mavlink_connection(str(tmp_path / f"vehicle_{n}.tlog"), dialect="all")
        kinds = set()
        while (m := log.recv_match()) is not None:
            kinds.add(m.get_type())
            assert 1_767_225_600 <= m._timestamp < 1_767_225_660
        log.close()
        assert {"HEARTBEAT", "GLOBAL_POSITION_INT", "PARAM_VALUE"} <= kinds
        assert "BAD_DATA" not in kinds
        assert ("COMMAND_LONG" in kinds) is (n == 1)
    tool = Path(sys.executable).with_name("mavlogdump.py")
    done = subprocess.run(
        [sys.executable, str(tool), "--types", "HEARTBEAT", str(tmp_path / "vehicle_1.tlog")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.count("HEARTBEAT") >= 1
