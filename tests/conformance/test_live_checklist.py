"""The checklist for live peers, run against peers that are known to be good or bad."""

import socket
import threading

import pytest

from pico_gz.codecs.ardupilot_servo import SIZE_16
from pico_gz.fdm.server import FdmServer
from pico_gz.fdm.vehicle import ExternalVehicle
from pico_gz.testing.autopilot_twin import AutopilotFleet, AutopilotTwin
from pico_gz.testing.conformance import CheckResult, Outcome, check_autopilot, check_simulator
from pico_gz.testing.fdm_rig import FdmRig
from pico_gz.testing.plugin_link import NO_TRAPS, TwinTraps
from pico_gz.testing.plugin_twin import PluginTwin

HOST = "127.0.0.1"


def failed(results: list[CheckResult]) -> dict[int, str]:
    return {r.number: r.detail for r in results if r.outcome is Outcome.FAIL}


def test_a_twin_without_traps_passes_everything() -> None:
    with PluginTwin([0], step_us=1000, traps=NO_TRAPS) as twin:
        results = check_simulator(HOST, twin.ports[0])
    assert failed(results) == {}
    assert len([r for r in results if r.outcome is Outcome.PASS]) >= 17


def test_a_twin_with_the_real_plugins_traps_fails_where_the_real_one_does() -> None:
    with PluginTwin([0], step_us=1000, traps=TwinTraps()) as twin:
        results = check_simulator(HOST, twin.ports[0])
    assert set(failed(results)) == {4}


def test_our_own_server_passes_everything() -> None:
    server = FdmServer([ExternalVehicle(vehicle_id=1, fdm_port=0)])
    rig = FdmRig(server, step_us=2000)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            if not server.is_connected(1):
                rig.collect(0.0)
                stop.wait(0.001)
                continue
            rig.hand_over()
            while not rig.collect(0.02) and not stop.is_set():
                pass
            rig.advance()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        results = check_simulator(HOST, server.port(1))
    finally:
        stop.set()
        thread.join()
        server.close()
    assert failed(results) == {}


def test_a_simulator_that_prints_pretty_json_is_caught() -> None:
    """One thread answers every packet with blanks after its colons."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((HOST, 0))
        server.settimeout(0.2)
        stop = threading.Event()

        def answer() -> None:
            time_s = 0.0
            while not stop.is_set():
                try:
                    data, sender = server.recvfrom(2000)
                except TimeoutError:
                    continue
                if len(data) == SIZE_16:
                    time_s += 0.001
                    body = (
                        f'{{"timestamp": {time_s:.3f}, "imu": {{"gyro": [0, 0, 0], "accel_body": '
                        '[0, 0, 0]}, "position": [0, 0, 0], "quaternion": [1, 0, 0, 0], '
                        '"velocity": [0, 0, 0]}'
                    )
                    server.sendto(f"{body}\n".encode(), sender)

        thread = threading.Thread(target=answer)
        thread.start()
        results = check_simulator(HOST, server.getsockname()[1], timeout_s=2.0)
        stop.set()
        thread.join()
    assert {18, 19, 20, 23} <= set(failed(results))


def test_nobody_there_fails_everything_in_bounded_time() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    results = check_simulator(HOST, port, timeout_s=0.1)
    assert list(failed(results)) == [1]
    assert all(r.outcome is Outcome.SKIP for r in results[1:])


@pytest.mark.parametrize("release_47", [False, True])
def test_an_autopilot_twin_passes(release_47: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    with AutopilotFleet([AutopilotTwin((HOST, port), release_47=release_47, resend_s=0.5)]):
        results = check_autopilot(port, steps=100)
    assert failed(results) == {}
    assert len(results) == 5


def test_no_autopilot_is_one_failure() -> None:
    (result,) = check_autopilot(0, connect_s=0.05)
    assert result.outcome is Outcome.FAIL
