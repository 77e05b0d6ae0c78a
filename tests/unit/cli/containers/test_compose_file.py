"""Compose files that were written for a fleet."""

import importlib.util
import re
from pathlib import Path

import pytest

from pico_gz.cli.tools.containers import build
from pico_gz.cli.tools.containers.compose_file import ComposeFile, ComposeOptions, cut_fleet
from pico_gz.cli.tools.containers.stack import check_name, project_name
from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet

ROOT = Path(__file__).parents[4]


@pytest.fixture
def make(tmp_path):
    def build(text="", per_bridge=None, name="fleet.toml", **options):
        path = tmp_path / name
        path.write_text(text)
        fleet = load_fleet(path, environ={})
        options = {"folder": tmp_path, "context": "${PICO_GZ_CONTEXT:-../kit}", **options}
        chosen = ComposeOptions(project="mine", **options)
        return ComposeFile(fleet, cut_fleet(fleet, per_bridge), chosen)

    return build


def test_gazebo_and_bridge_share_a_network(make):
    services = make().content()["services"]
    assert list(services) == ["gazebo", "bridge"]
    assert services["bridge"]["network_mode"] == "service:gazebo"
    assert services["bridge"]["depends_on"]["gazebo"]["condition"] == "service_healthy"
    assert "ports" not in services["bridge"]


def test_every_service_is_hardened_and_watched(make):
    text = '[fleet]\ncount = 3\nautopilot = "external"\n'
    services = make(text, per_bridge=2).content()["services"]
    assert len(services) == 2 + 2 + 3
    for service in services.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["healthcheck"]["test"]
        assert "start_interval" not in service["healthcheck"]
        assert service["labels"] == {"pico_gz.run": "mine"}
        assert "privileged" not in service


def test_ports_are_on_loopback_and_differ(make):
    services = make('[fleet]\ncount = 5\nadapter = "lightweight"\n', 2).content()["services"]
    published = [port for service in services.values() for port in service["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in published)
    outside = [port.split(":")[1] for port in published]
    assert len(set(outside)) == len(outside) == 6
    assert {port.split(":")[2] for port in published} == {"8085", "8095", "8105", "5760"}
    views = [service["environment"]["PICO_GZ_DASHBOARD"] for service in services.values()]
    assert views == ["0.0.0.0:8085", "0.0.0.0:8095", "0.0.0.0:8105"]


def test_parts_name_their_vehicles(make):
    services = make("[fleet]\ncount = 4\n", 2).content()["services"]
    only = {name: s["environment"]["PICO_GZ_ONLY"] for name, s in services.items()}
    assert only == {"gazebo_1": "1,2", "bridge_1": "1,2", "gazebo_2": "3,4", "bridge_2": "3,4"}
    partitions = {services[f"gazebo_{n}"]["environment"]["GZ_PARTITION"] for n in (1, 2)}
    assert len(partitions) == 2


def test_links_that_others_open_are_published(make):
    text = '[fleet]\nadapter = "lightweight"\n[mavlink]\nlinks = ["tcpin:0.0.0.0:5790"]\n'
    (service,) = make(text).content()["services"].values()
    assert "127.0.0.1:5790:5790/tcp" in service["ports"]


def test_the_file_can_be_shared(make, tmp_path):
    """No path of this machine, whichever folder it is written to."""
    for folder, source in ((tmp_path, "."), (tmp_path / "a/b", "../.."), (tmp_path.parent, None)):
        file = make(folder=folder, runs=tmp_path / "my_runs")
        assert str(tmp_path.parent) not in file.text()
        assert str(Path.home()) not in file.text()
        (fleet, runs) = file.content()["services"]["bridge"]["volumes"]
        if source:
            assert fleet["source"] == source
        assert (folder / runs["source"]).resolve() == tmp_path / "my_runs"
        assert runs["source"].startswith(".")


def test_the_context_of_a_clone_is_relative_and_that_of_a_wheel_is_in_any_users_cache(
    monkeypatch, tmp_path
):
    clone = tmp_path / "clone"
    monkeypatch.setattr(build, "build_context", lambda: clone)
    assert build.shared_context(clone / "fleets/f.yaml") == "${PICO_GZ_CONTEXT:-..}"
    assert build.shared_context(tmp_path / "f.yaml") == "${PICO_GZ_CONTEXT:-./clone}"
    cached = Path.home() / ".cache/pico_gz" / build.CACHED_CONTEXT
    monkeypatch.setattr(build, "build_context", lambda: cached)
    written = build.shared_context(tmp_path / "f.yaml")
    assert written == (
        "${PICO_GZ_CONTEXT:-${XDG_CACHE_HOME:-${HOME}/.cache}/pico_gz/" + cached.name + "}"
    )


@pytest.mark.parametrize(
    ("fleet", "project"),
    [
        ("three_rovers", "three_rovers"),
        ("Mähroboter 2", "m-hroboter-2"),
        ("_a", "a"),
        ("ä", "pico-gz"),
    ],
)
def test_the_project_has_the_fleets_name(fleet, project):
    assert project_name(fleet) == check_name(project) == project


def test_what_the_services_start_is_in_this_package(make):
    text = '[fleet]\ncount = 2\nautopilot = "external"\n'
    services = make(text).content()["services"].values()
    for service in services:
        for words in (service["command"], service["healthcheck"]["test"][1:]):
            assert words[:2] == ["python3", "-m"]
            spec = importlib.util.find_spec(words[2])
            assert spec is not None
            assert Path(spec.origin).is_relative_to(ROOT / "pico_gz"), words


def test_all_bridges_send_to_one_port_although_their_own_differ(make):
    services = make('[fleet]\ncount = 4\nadapter = "lightweight"\n', 2).content()["services"]
    environments = [service["environment"] for service in services.values()]
    assert {e["PICO_GZ_GCS_PORT"] for e in environments} == {"${GCS_PORT:-14550}"}
    assert [e["PICO_GZ_OUTSIDE_TCP"] for e in environments] == ["127.0.0.1:5760", "127.0.0.1:5770"]
    assert environments[1]["PICO_GZ_OUTSIDE_CTL"] == (
        "docker compose -p mine exec lightweight_2 pico-gz ctl"
    )


def test_a_dollar_in_a_name_is_no_variable(make):
    text = make(name="a$HOME.toml").text()
    assert "a$$HOME.toml" in text
    assert "${PICO_GZ_USER:-10001:10001}" in text


def test_it_says_the_same_as_the_projects_own_file(make):
    """Settings of the hand-written file that a written one must not lose."""
    own = (ROOT / "compose.yaml").read_text()
    written = make().text()
    for line in ("read_only: true", "cap_drop: [ALL]", "init: true", "retries: 15", "mode=1777",
                 "interval: 2s", "timeout: 40s", "pull_policy:"):  # fmt: skip
        assert line in own
        assert line in written.replace('"', "")
    variables = set(re.findall(r"^  (PICO_GZ_\w+|GZ_\w+|GCS|RECORD):", own, re.M))
    assert variables
    assert all(f"{name}:" in written for name in variables)


def test_a_folder_for_runs_belongs_to_its_user_and_is_never_made_by_the_engine(make, tmp_path):
    service = make(runs=tmp_path / "runs", user="1000:1000").content()["services"]["bridge"]
    (mount,) = (volume for volume in service["volumes"] if volume["target"] == "/runs")
    assert mount["bind"] == {"create_host_path": False}
    assert "read_only" not in mount
    assert service["user"] == "${PICO_GZ_USER:-1000:1000}"


def test_images_can_be_made_without_an_index(make):
    for service in make().content()["services"].values():
        assert {"PIP_NO_INDEX", "PIP_INDEX_URL"} < service["build"]["args"].keys()


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("tcpin:0.0.0.0:5770", "lightweight_1 and lightweight_2 would both publish port 5770"),
        ("udpin:0.0.0.0:65530", "need port 65540"),
    ],
)
def test_ports_that_cannot_be_published_are_refused(make, link, words):
    text = f'[fleet]\ncount = 2\nadapter = "lightweight"\n[mavlink]\nlinks = ["{link}"]\n'
    make(text).content()
    with pytest.raises(ConfigError, match=words):
        make(text, per_bridge=1).content()
