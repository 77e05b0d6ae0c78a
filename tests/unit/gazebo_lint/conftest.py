"""Unit tests say what sdformat answers, so that they are the same on every machine."""

import pytest

from pico_gz.gazebo.lint import sdformat


@pytest.fixture(autouse=True)
def no_sdformat(monkeypatch):
    monkeypatch.setattr(sdformat, "find_bindings", lambda module: "")
