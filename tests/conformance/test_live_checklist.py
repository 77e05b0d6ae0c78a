"""The checklist for live peers, and its command, against peers on real sockets.

One peer per fault is in ``tests/unit/testing/test_conformance_*.py``, in virtual time.
"""

import dataclasses
import json
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from fdm_rig import FdmRig

from pico_gz.cli.app import run_command
from pico_gz.testing import PortLeases
from pico_gz.testing.autopilot_twin import AutopilotFleet, AutopilotTwin
from pico_gz.testing.conformance import CheckResult, Outcome
from pico_gz.testing.conformance_autopilot import check_external_autopilot
from pico_gz.testing.conformance_simulator import check_simulator
from pico_gz.testing.plugin_twin import NO_TRAPS, PluginTwin, TwinTraps
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer

HOST = "127.0.0.1"


@pytest.fixture
def port() -> Iterator[int]:
    with PortLeases() as leases:
        yield leases.take()[0]


def failed(results: list[CheckResult]) -> dict[int, str]:
    return {r.number: r.detail for r in results if r.outcome is Outcome.FAIL}


# --- simulators ---------------------------------------------------------------------------


def test_a_twin_without_traps_passes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with PluginTwin([0], step_us=1000, traps=NO_TRAPS) as twin:
        address = f"{HOST}:{twin.ports[0]}"
        code = run_command(["conformance", "--simulator", address, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert [check for check in answer["checks"] if check["outcome"] == "fail"] == []
    assert (code, answer["failed"], len(answer["checks"])) == (0, 0, 24)
    # A twin has no wind; and on the same processor it may be quick enough to never have a queue.
    skipped = {check["number"] for check in answer["checks"] if check["outcome"] == "skip"}
    assert {21} <= skipped <= {11, 21}


def test_a_twin_with_the_real_plugins_traps_fails_where_the_real_one_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    traps = dataclasses.replace(TwinTraps(), empty_replies=5)
    with PluginTwin([0], step_us=1000, traps=traps) as twin:
        code = run_command(["conformance", "--simulator", f"{HOST}:{twin.ports[0]}"])
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()[2:-2]]
    assert code == 1
    assert {int(row[0]) for row in rows if row[1] == "fail"} == {3, 4, 5, 8, 12}


@pytest.mark.slow
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


def test_nobody_there_fails_everything_in_bounded_time(
    port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"{HOST}:{port}"
    code = run_command(["conformance", "--simulator", address, "--timeout", "0.2", "--json"])
    first, *others = json.loads(capsys.readouterr().out)["checks"]
    assert code == 1
    assert (first["outcome"], first["detail"]) == ("fail", "no record within 0.2 s")
    assert {check["outcome"] for check in others} == {"skip"}


# --- autopilots ---------------------------------------------------------------------------


def test_an_autopilot_twin_passes(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    with AutopilotFleet([AutopilotTwin((HOST, port), resend_s=0.5)]):
        code = run_command(["conformance", "--autopilot", str(port), "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert [check for check in answer["checks"] if check["outcome"] == "fail"] == []
    assert (code, answer["failed"], len(answer["checks"])) == (0, 0, 5)


def test_an_autopilot_twin_of_47_passes(port: int) -> None:
    with AutopilotFleet([AutopilotTwin((HOST, port), release_47=True, resend_s=0.5)]):
        results = check_external_autopilot(port, steps=100)
    assert failed(results) == {}


def test_a_stranger_on_the_port_is_quoted(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The older wire of ArduPilot: sixteen floats."""
    stop = threading.Event()

    def speak() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            while not stop.wait(0.05):
                stranger.sendto(struct.pack("<16f", *[0.0] * 16), (HOST, port))

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        code = run_command(["conformance", "--autopilot", str(port), "--timeout", "1"])
    finally:
        stop.set()
        thread.join()
    assert code == 1
    assert "spoke, but sent no servo packet" in capsys.readouterr().out


def test_a_taken_port_is_exit_3(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind((HOST, port))
        assert run_command(["conformance", "--autopilot", str(port)]) == 3
    assert "in use" in capsys.readouterr().err
