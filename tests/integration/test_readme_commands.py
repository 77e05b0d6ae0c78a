"""Every command inside the README's sentences and tables: run, or listed with the reason.

Code blocks are run by ``test_docs.py``.
"""

import contextlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fleet_process import FleetProcess

ROOT = Path(__file__).parents[2]
README = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.M | re.S)
IS_COMMAND = re.compile(
    r"(pico-gz|ctl|mavproxy\.py|--master|await|ardurover|source|xhost|docker)[ =]"
    r"|(\./)?scripts/|([A-Z_]+=\S+ )+\w"
)
COMMANDS = [
    code for code in dict.fromkeys(re.findall(r"`([^`\n]+)`", README)) if IS_COMMAND.match(code)
]

# Each with what must be seen in its answer (``--json``).
CONTROLS = {
    "pico-gz ctl pause": lambda now: now["state"] == "paused",
    "ctl step 10": lambda now: now["state"] == "paused" and now["steps"] > 10,
    "ctl speed max": lambda now: now["speed"] == "max",
    "ctl goto 1 5 -3": lambda now: now["vehicles"]["1"]["mode"] == "GUIDED",
    "ctl mode all HOLD": lambda now: {v["mode"] for v in now["vehicles"].values()} == {"HOLD"},
    "ctl mission all square": lambda now: now["state"] == "paused",
    "ctl set-pose 2 5 -1.5 90": lambda now: now["vehicles"]["2"]["east_m"] == -1.5,
    "ctl fail 1 gps off": lambda now: now["failures"]["1"] == {"gps": "off"},
    "ctl status": lambda now: len(now["vehicles"]) == 2,
}
ENDS = ("ctl watch", "ctl stop")
# What is added to end soon, on ports of its own.
ALONE = {
    "pico-gz run": "--speed max",
    "pico-gz run --until-done": "--speed max",
    "pico-gz run --gcs shared --duration 0": "--duration 1 --speed max",
    "pico-gz run --dashboard": "--duration 1 --speed max",
    "pico-gz doctor": "",
    "pico-gz compose fleet.toml": "",
    "pico-gz bench": "--only start",
}
GROUND_STATIONS = (
    "mavproxy.py --master=tcp:127.0.0.1:5760",
    "--master=udpin:127.0.0.1:14550",
    'await sdk.add_any_connection("udpin://127.0.0.1:14550")',
)
# command -> the file of the tests that run it
ELSEWHERE = {
    "scripts/run": "test_scripts.py",
    "./scripts/run": "test_scripts.py",
    "./scripts/run --speed 10": "test_scripts.py",
    "scripts/test": "test_scripts.py",
    "pico-gz ctl fail": "test_readme_commands.py",
    "pico-gz replay | plot | diff | rerun": "test_docs.py",
    "ardurover --model JSON:127.0.0.1": "test_ardurover.py",
    "docker compose up": "test_docker_operation.py",
    "docker compose up lightweight": "test_docker_lightweight.py",
    'docker compose -p second --profile "*" down': "test_docker_operation.py",
    "AUTOPILOT=external docker compose --profile ardupilot up": "test_docker_gazebo.py",
    "pico-gz up": "test_docker_commands.py",
    "pico-gz render runs -o video.mp4": "test_render.py",
}
NOT_RUN = {
    "./scripts/run --duration 0": "until Ctrl-C; its argument goes to pico-gz run",
    "./scripts/test --all": "it would run itself",
    "./scripts/build": "it takes minutes; ./scripts/test --all runs what it runs",
    "source .venv/bin/activate": "there is no .venv where these tests run",
    "xhost +local: && docker compose --profile gui up": "needs a screen",
    "FLEET=yard.toml docker compose up": "the variable, with the image lightweight only",
    "ROVERS=5 docker compose up": "builds the Gazebo image",
    "DASHBOARD_PORT=8086 MAVLINK_TCP_PORT=5860 docker compose -p second up": (
        "the variables, with the image lightweight only"
    ),
    "DASHBOARD_PORT=8086 MAVLINK_TCP_PORT=5860 GCS_PORT=14550 docker compose up": (
        "the variables, with the image lightweight only"
    ),
    "pico-gz get ardurover": "needs the network; its tests fetch from a server of their own",
    "docker compose ps -a": "a command of Docker's",
    "docker compose logs gazebo bridge": "a command of Docker's",
}


def test_every_command_has_its_place():
    listed = [*CONTROLS, *ENDS, *ALONE, *GROUND_STATIONS, *ELSEWHERE, *NOT_RUN]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(COMMANDS)
    for file in set(ELSEWHERE.values()):
        assert (Path(__file__).parent / file).is_file(), file


@pytest.fixture
def environment(tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("PICO_GZ")},
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "PICO_GZ_ADAPTER": "lightweight",
    }


def pico_gz(words: str) -> list[str]:
    """A command of the README, by the package under test; ``ctl`` stands for ``pico-gz ctl``."""
    return [sys.executable, "-m", "pico_gz", *shlex.split(words.removeprefix("pico-gz "))]


@pytest.mark.parametrize("command", ALONE)
def test_a_command_works(command, environment, tmp_path):
    def call(words):
        done = subprocess.run(
            pico_gz(words), cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    if "fleet.toml" in command:
        tmp_path.chmod(0o755)  # containers run as another user
        call("init")
    ports = "--port-offset auto" if command.startswith("pico-gz run") else ""
    call(f"{command} {ALONE[command]} {ports}")


def test_a_run_is_controlled_by_the_commands_in_their_order(environment, tmp_path):
    where = {"cwd": tmp_path, "env": environment, "text": True}
    run = subprocess.Popen(
        pico_gz("run --rovers 2 --duration 0 --port-offset auto"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **where,
    )  # fmt: skip

    def call(words):
        done = subprocess.run(pico_gz(words), capture_output=True, timeout=60, **where)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    with contextlib.ExitStack() as ended:
        ended.callback(run.communicate)
        ended.callback(run.kill)
        while "Control it" not in run.stdout.readline():
            assert run.poll() is None
        order = [command for command in COMMANDS if command in (*CONTROLS, *ENDS)]
        assert order == [*CONTROLS, *ENDS]
        end_s = time.monotonic() + 60.0
        while json.loads(call("ctl status --json"))["vehicles"]["1"]["mode"] != "AUTO":
            assert time.monotonic() < end_s, "the demo does not drive"
        for command, is_seen in CONTROLS.items():
            now = json.loads(call(f"{command} --json"))
            assert is_seen(now), f"{command}: {now}"
        watch = subprocess.Popen(pico_gz("ctl watch"), stdout=subprocess.PIPE, **where)
        ended.callback(watch.communicate)
        ended.callback(watch.kill)
        assert "events from now on" in watch.stdout.readline()
        call("ctl stop")
        assert run.wait(20) == 0
        assert watch.wait(20) == 0


MAVPROXY = Path(sys.executable).with_name("mavproxy.py")


def with_ports(text: str, fleet: FleetProcess) -> str:
    """The same line for a run on other ports."""
    moved = text.replace(":5760", f":{fleet.tcp_port}").replace(":14550", f":{fleet.udp_base}")
    assert moved != text
    return moved


@pytest.mark.gcs
@pytest.mark.skipif(not MAVPROXY.exists(), reason="MAVProxy is not here")
@pytest.mark.parametrize("command", GROUND_STATIONS[:2])
def test_mavproxy_connects(command, environment, tmp_path):
    with FleetProcess(1) as fleet:
        words = shlex.split(with_ports(command.removeprefix("mavproxy.py "), fleet))
        process = subprocess.Popen(
            [sys.executable, "-u", str(MAVPROXY), *words, "--default-modules", "link,mode"],
            cwd=tmp_path, env={**environment, "HOME": str(tmp_path)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            seen = ""
            while "Detected vehicle 1" not in seen:
                line = process.stdout.readline()
                assert line, seen
                seen += line
        finally:
            process.kill()
            process.communicate()


@pytest.mark.gcs
@pytest.mark.skipif(not importlib.util.find_spec("mavsdk"), reason="mavsdk is not here")
def test_mavsdk_connects():
    client = """\
import asyncio
from mavsdk.asyncio import ComponentType, Configuration, Mavsdk
async def main():
    sdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    {line}
    assert await sdk.first_autopilot(timeout_s=30.0) is not None
asyncio.run(main())
"""
    with FleetProcess(1) as fleet:
        code = client.format(line=with_ports(GROUND_STATIONS[2], fleet))
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
