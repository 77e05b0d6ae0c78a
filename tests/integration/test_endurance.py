"""The length that ``./scripts/soak`` sets reaches the endurance tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# The loads that last hours when asked to.
ENDURANCE_TESTS = {
    "tests/scenarios/test_load_lightweight.py": "test_faster_than_real_time",
    "tests/scenarios/test_session.py": "test_memory_stays_flat",
    "tests/integration/test_wire_loads.py": "test_l02_a_large_fleet_at_50_hz",
}


def pytest_in(folder: Path, *arguments: str, soak_s: str | None = None, may_fail=False) -> str:
    environment = {**os.environ, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    environment.pop("PICO_GZ_SOAK_S", None)
    if soak_s is not None:
        environment["PICO_GZ_SOAK_S"] = soak_s
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 or may_fail, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("soak_s", "length_s"), [(None, 60), ("7", 7), ("99999", 3600)])
def test_a_load_lasts_as_long_as_asked_but_no_longer_than_its_goal(
    endurance, monkeypatch, soak_s, length_s
):
    monkeypatch.delenv("PICO_GZ_SOAK_S", raising=False)
    if soak_s is not None:
        monkeypatch.setenv("PICO_GZ_SOAK_S", soak_s)
    assert endurance(60, 3600) == length_s


def test_every_endurance_test_asks_for_its_length():
    plan = pytest_in(TESTS.parent, "--setup-plan", "-m", "slow", *ENDURANCE_TESTS)
    for path, name in ENDURANCE_TESTS.items():
        line = next(line for line in plan.splitlines() if f"{path}::{name}" in line)
        assert "endurance" in line.partition("fixtures used:")[2]


def test_a_soak_really_lasts_so_long():
    one = "tests/scenarios/test_load_lightweight.py::test_faster_than_real_time[1-200.0]"
    text = pytest_in(TESTS.parent, "--log-cli-level=INFO", one, soak_s="3", may_fail=True)
    assert "lasts 3 s" in text


@pytest.mark.slow
def test_a_soak_has_no_time_limit(tmp_path):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.timeout(600)\n"
        "def test_limit(request):\n"
        "    print('limit', request.node.get_closest_marker('timeout').args[0])\n"
    )
    assert "limit 600" in pytest_in(tmp_path, "-s")
    assert "limit 0" in pytest_in(tmp_path, "-s", soak_s="5")
