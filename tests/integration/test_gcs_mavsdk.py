"""mavsdk against a real autopilot in another process."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_process import LOOPBACK, FleetProcess

pytestmark = [
    pytest.mark.gcs,
    pytest.mark.skipif(not importlib.util.find_spec("mavsdk"), reason="mavsdk is not here"),
]

CLIENT = Path(__file__).with_name("mavsdk_client.py")
LAT, LON = 356_812_360, 1_397_671_250


@pytest.mark.timeout(150)
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_whole_drive(transport):
    with FleetProcess(1, speed=4.0) as fleet:
        url = f"udpin://{LOOPBACK}:{fleet.udp_base}"
        if transport == "tcp":
            url = f"tcpout://{LOOPBACK}:{fleet.tcp_port}"
        done = subprocess.run(
            [sys.executable, str(CLIENT), url],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert "Traceback" not in fleet.output()
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["position"] == pytest.approx([LAT * 1e-7, LON * 1e-7], abs=2e-4)
    assert seen["home"] == pytest.approx([LAT * 1e-7, LON * 1e-7], abs=2e-4)
    assert seen["satellites"] >= 6
    assert 6.0 < seen["battery_v"] < 9.0
    assert seen["version"] == 4
    assert (seen["wp_radius"], seen["wp_radius_set"]) == (2.0, 1.5)
    # Item 0 is home, which the vehicle knows better.
    assert seen["mission"][1:] == [[LAT + 450, LON], [LAT + 450, LON + 550], [LAT, LON]]
    assert seen["armed"]
    assert seen["progress"][0] >= 2
    assert seen["moved_deg"] > 2e-5
    assert seen["disarmed"]
