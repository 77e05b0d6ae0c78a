"""Single checks, with the machine replaced by what it would say."""

from pathlib import Path

import pytest

from pico_gz.cli.tools import doctor_checks
from pico_gz.cli.tools.doctor_checks import Need, State, ask
from pico_gz.core.ports import PortProblem
from pico_gz.gazebo.install import GazeboInstall


@pytest.fixture
def says(monkeypatch):
    """Let programs answer as told: ``says(code, text)``."""

    def set_answer(code, text):
        monkeypatch.setattr(doctor_checks, "ask", lambda command: (code, text))
        monkeypatch.setattr(doctor_checks.shutil, "which", lambda name, **_: f"/bin/{name}")

    return set_answer


@pytest.fixture
def installed(monkeypatch, tmp_path):
    plugin = tmp_path / "libArduPilotPlugin.so"
    plugin.write_bytes(b"\x7fELF")
    install = GazeboInstall(Path("/usr/bin/gz"), plugin)
    monkeypatch.setattr(doctor_checks, "find_gazebo", lambda: install)
    return plugin


class TestGazebo:
    @pytest.mark.parametrize("text", ["8.14.0", "9.1.0\n8.6.0", "8.0.0~pre1"])
    def test_harmonic_is_found(self, says, installed, text):
        says(0, text)
        (finding,) = doctor_checks.check_gazebo()
        assert finding.state is State.FOUND
        assert finding.version.startswith("gz-sim 8.")

    def test_jetty_is_found_and_called_untried(self, says, installed):
        says(0, "10.4.0")
        (finding,) = doctor_checks.check_gazebo()
        assert (finding.state, finding.version) == (State.FOUND, "gz-sim 10.4.0")
        assert "never run" in finding.detail

    @pytest.mark.parametrize(
        ("code", "text", "word"),
        [(0, "9.1.0", "9.1.0"), (1, "I have no sim", "I have no sim"), (-1, "", "nothing")],
    )
    def test_anything_else_is_not(self, says, installed, code, text, word):
        says(code, text)
        (finding,) = doctor_checks.check_gazebo()
        assert (finding.state, finding.need) == (State.MISSING, Need.GAZEBO)
        assert word in finding.detail
        assert "apt install" in finding.remedy

    def test_without_it_the_remedies_are_told(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "find_gazebo", lambda: GazeboInstall(None, None))
        monkeypatch.setattr(doctor_checks, "find_bindings", str)
        monkeypatch.setattr(doctor_checks, "can_ask", lambda: False)
        for check in (
            doctor_checks.check_gazebo,
            doctor_checks.check_plugin,
            doctor_checks.check_bindings,
            doctor_checks.check_sdformat,
        ):
            (finding,) = check()
            assert finding.state is State.MISSING
            assert finding.remedy

    def test_a_plugin_path_without_plugin_is_told(self, monkeypatch):
        install = GazeboInstall(Path("/usr/bin/gz"), None, "/wrong")
        monkeypatch.setattr(doctor_checks, "find_gazebo", lambda: install)
        (finding,) = doctor_checks.check_plugin()
        assert finding.state is State.MISSING
        assert finding.detail == "not in /wrong"

    def test_the_plugins_age_is_told(self, installed):
        (old,) = doctor_checks.check_plugin()
        installed.write_bytes(b"\x7fELF..no_time_sync..")
        (new,) = doctor_checks.check_plugin()
        assert old.version == "from before 2026"
        assert "full reverse" in old.detail
        assert "update" in old.remedy
        assert new.version == "of 2026 or later"
        assert "PWM 0 is no output" in new.detail

    def test_the_reader_of_worlds_is_found(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "can_ask", lambda: True)
        (finding,) = doctor_checks.check_sdformat()
        assert (finding.state, finding.remedy) == (State.FOUND, "")

    def test_bindings_of_another_python_count(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "find_bindings", lambda: "/usr/bin/python3")
        (finding,) = doctor_checks.check_bindings()
        assert finding.state is State.FOUND
        assert "/usr/bin/python3" in finding.detail


def test_the_environment_is_shown_without_secrets(tmp_path):
    findings = doctor_checks.check_environment(
        {
            "GZ_IP": "127.0.0.1",
            "GZ_SIM_RESOURCE_PATH": f"{tmp_path}:/no/such/folder",
            "PICO_GZ_TOKEN": "hunter2",
            "AWS_KEY": "x",
        }
    )
    shown = {finding.name: finding for finding in findings}
    assert list(shown) == ["GZ_IP", "GZ_SIM_RESOURCE_PATH", "PICO_GZ_TOKEN"]
    assert shown["GZ_SIM_RESOURCE_PATH"].state is State.TROUBLE
    assert "/no/such/folder" in shown["GZ_SIM_RESOURCE_PATH"].remedy
    assert "hunter2" not in shown["PICO_GZ_TOKEN"].detail


class TestDocker:
    def test_found(self, says):
        says(0, "28.2.2")
        assert doctor_checks.check_engine()[0].state is State.FOUND
        assert doctor_checks.check_compose()[0].state is State.FOUND

    def test_an_old_compose_is_told(self, says):
        says(0, "2.3.1")
        assert doctor_checks.check_compose()[0].state is State.TROUBLE

    @pytest.mark.parametrize(
        ("text", "word"),
        [("permission denied at /var/run/docker.sock", "usermod"), ("no daemon", "systemctl")],
    )
    def test_an_engine_that_does_not_answer(self, says, text, word):
        says(1, text)
        (finding,) = doctor_checks.check_engine()
        assert finding.state is State.MISSING
        assert word in finding.remedy

    def test_without_docker(self, monkeypatch):
        monkeypatch.setattr(doctor_checks.shutil, "which", lambda name: None)
        for check in (doctor_checks.check_engine, doctor_checks.check_compose):
            assert check()[0].remedy == doctor_checks.GET_DOCKER


class TestNetwork:
    def test_ports_in_use_name_their_owner(self, monkeypatch):
        """The kit's own ports are trouble; those of others are good news."""

        def find_busy(uses):
            own = [use for use in uses if use.role == "bind" and use.port in (9002, 9003)]
            return [PortProblem(use, "is in use by ruby (pid 7)") for use in own]

        monkeypatch.setattr(doctor_checks, "find_busy", find_busy)
        socket, plugin = doctor_checks.check_ports()
        assert (socket.name, socket.state) == ("UDP 9003", State.TROUBLE)
        assert "ruby (pid 7)" in socket.detail
        assert (plugin.name, plugin.state) == ("UDP 9002", State.FOUND)
        assert "would talk to it" in plugin.detail

    @pytest.mark.parametrize(
        ("owner", "state"),
        [("ruby (pid 7)", "found"), ("gz sim server (pid 7)", "found"), ("", "found"),
         ("python3 (pid 7)", "trouble")],
    )  # fmt: skip
    def test_a_strangers_plugin_port_is_trouble(self, monkeypatch, owner, state):
        monkeypatch.setattr(doctor_checks, "owner_of", lambda protocol, port: owner)
        monkeypatch.setattr(
            doctor_checks,
            "find_busy",
            lambda uses: [PortProblem(use, "is in use") for use in uses if use.port == 9002],
        )
        plugin = doctor_checks.check_ports()[-1]
        assert (plugin.name, plugin.state) == ("UDP 9002", state)

    def test_a_ground_station_may_be_called_anything(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "owner_of", lambda protocol, port: "mission (pid 7)")
        monkeypatch.setattr(
            doctor_checks,
            "find_busy",
            lambda uses: [PortProblem(use, "is in use") for use in uses if use.port == 14550],
        )
        assert doctor_checks.check_ports()[-1].state is State.FOUND

    def test_free_ports(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "find_busy", lambda uses: [])
        assert doctor_checks.check_ports()[0].state is State.FOUND

    @pytest.mark.parametrize(("size", "state"), [("212992", "found"), ("8192", "trouble")])
    def test_buffers(self, monkeypatch, size, state):
        monkeypatch.setattr(doctor_checks, "_text", lambda path: size)
        (finding,) = doctor_checks.check_udp_buffers()
        assert finding.state == state

    def test_buffers_of_another_system_are_not_told(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "_text", lambda path: "")
        assert doctor_checks.check_udp_buffers() == []

    def test_a_clock_that_oversleeps_is_told(self, monkeypatch):
        ticks = iter(range(1000))
        monkeypatch.setattr(doctor_checks.time, "perf_counter", lambda: next(ticks))
        monkeypatch.setattr(doctor_checks.time, "sleep", lambda seconds: None)
        assert doctor_checks.check_clock()[0].state is State.TROUBLE


class TestPython:
    def test_this_python_will_do(self):
        assert all(f.state is State.FOUND for f in doctor_checks.check_python())

    def test_packages_and_extras(self, monkeypatch):
        monkeypatch.setitem(doctor_checks.EXTRA_PACKAGES, "plots", ("no-such-package",))
        findings = {finding.name: finding for finding in doctor_checks.check_packages()}
        assert findings["dependencies"].state is State.FOUND
        assert findings["extra web"].detail == "for the browser view"
        assert findings["extra plots"].state is State.MISSING
        assert findings["extra plots"].remedy == "pip install 'pico-gz[plots]'"

    def test_a_missing_dependency_is_named(self, monkeypatch):
        monkeypatch.setattr(doctor_checks, "CORE", ("numpy", "no-such-package"))
        finding = doctor_checks.check_packages()[0]
        assert (finding.state, finding.need) == (State.MISSING, Need.LIGHTWEIGHT)
        assert "no-such-package" in finding.detail


def test_asking_a_program_that_is_not_there():
    code, text = ask(["/no/such/program"])
    assert code == -1
    assert "No such file" in text
