"""Dockerfiles, Compose file and workflows, as their own checkers see them. No engine needed."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from external_programs import need_compose, need_program

from pico_gz import __version__
from pico_gz.cli.tools.containers.inside import watch

ROOT = Path(__file__).parents[2]
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
WORKFLOWS = [
    *sorted((ROOT / ".github/workflows").glob("*.yml")),
    ROOT / "docs/examples/rover-ci.yml",
]
# What the classic builder does not know.
BUILDKIT_ONLY = re.compile(r"RUN\s+--|COPY\s+.*--(?:chmod|link)|<<\s*\w+\s*$|^# syntax", re.M)


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_hadolint(path):
    words = [need_program("hadolint", "--version"), "--failure-threshold", "info", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_dockerfiles_build_with_every_builder_and_pin_no_digest(path):
    text = path.read_text()
    assert not BUILDKIT_ONLY.search(text)
    assert "sha256:" not in text
    assert re.match(r"(?:#.*\n)*ARG BASE_IMAGE=\S+\n", text)
    bases = set(re.findall(r"^FROM (\S+)", text, re.M))
    stages = set(re.findall(r" AS (\S+)$", text, re.M))
    assert bases - stages == {"${BASE_IMAGE}"}
    assert not re.search(r"amd64|x86_64", text)


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_every_stage_that_installs_knows_where_it_may_look(path):
    """The classic builder forgets arguments at the end of a stage."""
    stages = re.split(r"^FROM ", path.read_text(), flags=re.M)[1:]
    installing = [stage for stage in stages if "pip install" in stage]
    assert installing
    for stage in installing:
        first = stage.index("pip install")
        assert stage.find("ARG PIP_NO_INDEX=\n") in range(first), stage.splitlines()[0]
        assert stage.find("ARG PIP_INDEX_URL=\n") in range(first), stage.splitlines()[0]


def test_labels_say_the_version_without_being_told():
    found = [
        word
        for path in (*DOCKERFILES, ROOT / "compose.yaml")
        for word in re.findall(r"(?:ARG VERSION=|PICO_GZ_VERSION:-)([^}\s]+)", path.read_text())
    ]
    assert len(found) >= 4
    assert set(found) == {__version__}


def test_the_last_word_on_the_user_is_not_root():
    for path in DOCKERFILES:
        stages = re.split(r"^FROM ", path.read_text(), flags=re.M)[1:]
        final = [stage for stage in stages if "CMD [" in stage]
        assert final
        for stage in final:
            users = re.findall(r"^USER (\S+)", stage, re.M)
            assert not users or users[-1] == "10001:10001"


@pytest.mark.parametrize(
    ("major", "library"),
    [("7", "libgz-physics7-dartsim-plugin.so.7"), ("9", "libgz-physics-dartsim-plugin.so.9")],
    ids=["harmonic", "jetty"],
)
def test_an_engine_gets_the_name_that_gazebo_asks_for(tmp_path, major, library):
    folder = tmp_path / f"gz-physics-{major}/engine-plugins"
    folder.mkdir(parents=True)

    def link(engine):
        words = ["sh", ROOT / "docker/link_engine.sh", "physics", major, engine, tmp_path]
        return subprocess.run(words, capture_output=True, text=True)

    assert "There is no dartsim-plugin" in link("dartsim-plugin").stderr
    # As the packages without development files have it.
    (folder / f"{library}.6.0").write_text("the library")
    (folder / library).symlink_to(f"{library}.6.0")
    for _ in range(2):
        assert link("dartsim-plugin").returncode == 0
    assert (folder / "libgz-physics-dartsim-plugin.so").read_text() == "the library"


def gazebo_packages(*words):
    command = ["sh", ROOT / "docker/gazebo_packages.sh", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_one_build_argument_chooses_the_release_of_gazebo():
    """Names as in the packaging files of gz-sim 8.14 and gz-sim 10.3 for Ubuntu 24.04."""
    assert gazebo_packages("harmonic", "server").stdout.split() == [
        *("gz-sim8-cli", "gz-tools2", "libgz-physics7-dartsim", "libgz-sim8-plugins"),
        *("python3", "python3-gz-msgs10", "python3-gz-transport13", "python3-sdformat14"),
    ]
    assert gazebo_packages("jetty", "server").stdout.split() == [
        *("gz-sim10-cli", "gz-tools2", "libgz-physics9-dartsim", "libgz-sim10-plugins"),
        *("python3", "python3-gz-msgs12", "python3-gz-transport15", "python3-sdformat16"),
    ]
    assert gazebo_packages("jetty", "development").stdout == "libgz-sim10-dev\n"
    assert gazebo_packages("jetty", "physics-major").stdout == "9\n"
    unknown = gazebo_packages("ionic", "server")
    assert unknown.returncode == 1
    assert "GAZEBO=harmonic or GAZEBO=jetty" in unknown.stderr
    text = (ROOT / "docker/gazebo.Dockerfile").read_text()
    stages = {stage.split()[2]: stage for stage in re.split(r"^FROM ", text, flags=re.M)[1:]}
    for name in ("plugin-builder", "gazebo", "gui"):
        assert "ARG GAZEBO=harmonic\n" in stages[name]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_follow_the_schema(path):
    checker = need_program("check-jsonschema", "--version")
    words = [checker, "--builtin-schema", "vendor.github-workflows", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def read_config(*files, **environ):
    """What Compose makes of its files."""
    words = [word for file in files for word in ("-f", file)]
    words += ["-p", "x", "--profile", "*", "config", "--format", "json"]
    done = subprocess.run(
        [need_compose(), "compose", *words],
        cwd=ROOT,
        # Without the caller's own ports and images.
        env={n: os.environ[n] for n in ("PATH", "HOME") if n in os.environ} | environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def config():
    """The Compose file with everything filled in."""
    return read_config()


def test_every_service_is_hardened_and_watched(config):
    for name, service in config["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["user"] == "10001:10001", name
        assert service["init"], name
        assert service["stop_grace_period"] == "5s", name
        assert int(service["mem_limit"]) > 0, name
        assert service["pids_limit"] > 0, name
        assert service["healthcheck"]["test"], name
        assert "start_interval" not in service["healthcheck"], name
        assert service["labels"] == {"pico_gz.run": "x"}, name
        assert not any("docker.sock" in str(volume) for volume in service.get("volumes", ()))


def test_ports_are_published_on_loopback_only_and_none_of_the_wire(config):
    published = [
        port for service in config["services"].values() for port in service.get("ports", ())
    ]
    assert published
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}
    assert {port["target"] for port in published} == {8085, 5760}


def test_only_gazebo_and_bridge_start_by_themselves(config):
    services = config["services"]
    assert sorted(n for n, s in services.items() if not s.get("profiles")) == ["bridge", "gazebo"]
    assert services["bridge"]["depends_on"]["gazebo"]["condition"] == "service_healthy"
    assert all(
        services[name]["network_mode"] == "service:gazebo"
        for name in ("bridge", "gui", "ardurover")
    )


def test_nothing_is_pulled_that_is_built_here(config):
    assert {s["pull_policy"] for s in config["services"].values() if "build" in s} == {"never"}
    assert all("build" in service for service in config["services"].values())


def test_a_check_that_watches_has_the_time_for_it(config):
    """Starting one every two seconds costs as much as the run of three rovers."""
    for service in config["services"].values():
        check = service["healthcheck"]
        assert check["timeout"] == "40s"
        assert watch.WATCH_S + 5.0 < 40.0
        assert check["interval"] == "2s"  # until it is healthy for the first time


def test_containers_know_their_names_outside():
    services = read_config(MAVLINK_TCP_PORT="5860")["services"]
    for name in ("bridge", "lightweight"):
        environment = services[name]["environment"]
        assert environment["PICO_GZ_OUTSIDE_TCP"] == "127.0.0.1:5860"
        assert environment["PICO_GZ_OUTSIDE_CTL"] == f"docker compose -p x exec {name} pico-gz ctl"
        assert environment["PICO_GZ_GCS_PORT"] == ""
    chosen = read_config(GCS_PORT="15000")["services"]["bridge"]["environment"]
    assert chosen["PICO_GZ_GCS_PORT"] == "15000"


def test_a_gpu_is_given_to_what_draws_and_to_nothing_else():
    """Never run: this is what Compose reads."""
    services = read_config("compose.yaml", "compose.gpu.yaml", RENDER_GROUP="109")["services"]
    assert sorted(name for name, s in services.items() if s.get("devices")) == ["gazebo", "gui"]
    for name in ("gazebo", "gui"):
        assert "/dev/dri" in json.dumps(services[name]["devices"])
        assert services[name]["group_add"] == ["109"]
        assert services[name]["environment"]["LIBGL_ALWAYS_SOFTWARE"] == "0"
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["environment"]["PICO_GZ_BIND"] == "0.0.0.0"


def test_an_nvidia_gpu_is_reserved_with_what_drawing_needs():
    services = read_config("compose.yaml", "compose.nvidia.yaml")["services"]
    for name in ("gazebo", "gui"):
        (device,) = services[name]["deploy"]["resources"]["reservations"]["devices"]
        assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
        assert "graphics" in services[name]["environment"]["NVIDIA_DRIVER_CAPABILITIES"]
    assert "deploy" not in services["bridge"]


def test_the_window_has_ogres_media_and_must_draw_before_it_is_an_image():
    """Not built here: the media are in packages that only the builder of the plugin installs."""
    text = (ROOT / "docker/gazebo.Dockerfile").read_text()
    stages = {stage.split()[2]: stage for stage in re.split(r"^FROM ", text, flags=re.M)[1:]}
    assert 'gazebo_packages.sh "${GAZEBO}" development' in stages["plugin-builder"]
    assert gazebo_packages("harmonic", "development").stdout == "libgz-sim8-dev\n"
    media = "/usr/share/gz/gz-rendering8"
    copied = stages["gui"].index(f"COPY --from=plugin-builder {media} {media}\n")
    drawn = stages["gui"].index("--headless-rendering")
    assert copied < drawn
    assert "docker/camera.sdf" in stages["gui"][:drawn]
    world = (ROOT / "docker/camera.sdf").read_text()
    assert 'type="camera"' in world
    assert "<render_engine>ogre2</render_engine>" in world


def test_unused_dialects_are_dropped_and_the_rest_still_works(tmp_path):
    package = Path(importlib.util.find_spec("pymavlink").origin).parent
    copy = tmp_path / "pymavlink"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    words = ["docker/drop_dialects.py", "all", "ardupilotmega", "common"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environ, capture_output=True, text=True
    )
    assert re.fullmatch(r"Removed \d+ MB of MAVLink dialects\.\n", done.stdout), done.stderr
    kept = {path.name for path in (copy / "dialects/v20").iterdir()}
    assert kept == {"__init__.py", "all.py", "ardupilotmega.py", "common.py"}
    program = (
        "import pymavlink, pico_gz.mavlink.codec\n"
        "from pymavlink import mavutil\n"
        f"assert pymavlink.__file__.startswith({str(tmp_path)!r})\n"
        "mavutil.set_dialect('all'); mavutil.set_dialect('common')\n"
    )
    environ["PYTHONPATH"] += os.pathsep + str(ROOT)
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True)
    assert done.returncode == 0, done.stderr


PAGES = [ROOT / name for name in ("README.md", "docs/docker.md", "compose.yaml")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_is_said_to_end_a_stack_ends_all_of_it(path):
    """Compose leaves services with a profile alone, unless the profile or the service is named."""
    commands = re.findall(r"docker compose [^`#\n]*?\bdown\b", path.read_text())
    assert {re.sub(r" -p \w+", "", " ".join(command.split())) for command in commands} == {
        'docker compose --profile "*" down'
    }


def test_x11_is_in_the_gui_only(config):
    assert [n for n, s in config["services"].items() if "X11" in json.dumps(s)] == ["gui"]


def test_a_program_that_is_not_the_one_asked_for_is_not_kept(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"hello")
    target = tmp_path / "kept"
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

    def fetch(url, sha256):
        words = [sys.executable, str(ROOT / "docker/fetch_checked.py"), url, sha256, str(target)]
        return subprocess.run(words, capture_output=True, text=True)

    assert "Give both" in fetch("", "").stderr
    assert "not kept" in fetch(program.as_uri(), "0" * 64).stderr
    assert not target.exists()
    assert fetch(program.as_uri(), digest.upper()).returncode == 0
    assert target.stat().st_mode & 0o111


def test_every_project_that_the_readme_starts_by_name_is_ended_by_name():
    """``docker compose down`` without its name ends another one."""
    page = (ROOT / "README.md").read_text()
    started = set(re.findall(r"docker compose -p (\w+) up", page))
    ended = set(re.findall(r'docker compose -p (\w+) --profile "\*" down', page))
    assert started == ended != set()
