"""Where shipped data is found."""

import pytest

from pico_gz.core import resources
from pico_gz.core.resources import resource_path
from pico_gz.errors import MissingProgramError


def test_in_a_source_checkout():
    assert resource_path("worlds/default.toml").is_file()
    assert resource_path("models").is_dir()


def test_in_an_installed_package(tmp_path, monkeypatch):
    package = tmp_path / "site-packages/pico_gz"
    (package / "data/worlds").mkdir(parents=True)
    # Somebody else's folder of the same name beside the package must not be taken.
    (tmp_path / "site-packages/worlds").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert resource_path("worlds") == package / "data/worlds"


def test_what_is_missing_is_named():
    with pytest.raises(MissingProgramError, match="worlds/none"):
        resource_path("worlds/none.toml")
