"""Compose files that were written for a fleet."""

import re
from pathlib import Path

import pytest

from pico_gz.cli.tools.containers.compose_file import ComposeFile, ComposeOptions, cut_fleet
from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet

ROOT = Path(__file__).parents[4]


@pytest.fixture
def make(tmp_path):
    def build(text="", per_bridge=None, name="fleet.toml", **options):
        path = tmp_path / name
        path.write_text(text)
        fleet = load_fleet(path, environ={})
        chosen = ComposeOptions(project="mine", context=Path("/kit"), **options)
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


def test_a_dollar_in_a_name_is_no_variable(make):
    text = make(name="a$HOME.toml").text()
    assert "a$$HOME.toml" in text
    assert "${PICO_GZ_USER:-10001:10001}" in text


def test_it_says_the_same_as_the_projects_own_file(make):
    """Settings of the hand-written file that a written one must not lose."""
    own = (ROOT / "compose.yaml").read_text()
    written = make().text()
    for line in ("read_only: true", "cap_drop: [ALL]", "init: true", "retries: 15", "mode=1777"):
        assert line in own
        assert line in written
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
