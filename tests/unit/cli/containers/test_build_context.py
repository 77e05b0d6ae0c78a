"""The folder that images are built from."""

import tomllib
from pathlib import Path

from pico_gz.cli.tools.containers.build import assemble, build_context

ROOT = Path(__file__).parents[4]


def test_a_checkout_is_its_own_context():
    assert build_context() == ROOT


def test_an_installation_becomes_a_project(tmp_path):
    package = tmp_path / "site/pico_gz"
    for name in ("data/docker/lightweight.Dockerfile", "data/worlds/default.toml", "__init__.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    (package / "data/compose.yaml").write_text("name: x")
    (package / "__pycache__").mkdir()
    folder = tmp_path / "context"
    folder.mkdir()
    requirements = ["numpy>=1.26", "starlette>=0.37; extra == 'web'", 'mcap>=1 ; extra=="mcap"']
    assemble(folder, package, requirements)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == ["numpy>=1.26"]
    assert project["optional-dependencies"] == {"web": ["starlette>=0.37"], "mcap": ["mcap>=1"]}
    assert (folder / "docker/lightweight.Dockerfile").is_file()
    assert (folder / "worlds/default.toml").is_file()
    assert (folder / "compose.yaml").read_text() == "name: x"
    assert not (folder / "pico_gz/__pycache__").exists()
