"""The shipped models and worlds are what the generator makes today."""

from pathlib import Path

import pytest
from shipped_models import library_files

from pico_gz.gazebo.lint import lint_file
from pico_gz.gazebo.worlds.folder import compare_folder
from pico_gz.run.config import load_fleet
from pico_gz.run.world_bundle import make_bundle

ROOT = Path(__file__).parents[3]
WORLDS = ("empty", "yard", "slope", "ten_rovers")
AGAIN = "run scripts/make_models"


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_are_up_to_date(name):
    fleet = load_fleet(ROOT / f"worlds/{name}.toml", environ={})
    state = compare_folder(ROOT / "worlds" / name, make_bundle(fleet).files)
    assert state.lines() == [], AGAIN


def test_models_are_up_to_date():
    assert compare_folder(ROOT / "models", library_files()).lines() == [], AGAIN


def test_there_is_nothing_else():
    folders = {path.name for path in (ROOT / "worlds").iterdir() if path.is_dir()}
    assert folders == set(WORLDS)
    models = {path.name for path in (ROOT / "models").iterdir() if path.is_dir()}
    assert models == {Path(name).parts[0] for name in library_files()}


def test_all_of_them_are_without_fault():
    files = [*ROOT.glob("models/*/model.sdf"), *ROOT.glob("worlds/**/*.sdf")]
    assert len(files) > 10
    assert [(path, found) for path in files if (found := lint_file(path, environ={}))] == []
