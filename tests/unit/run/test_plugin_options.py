"""Options of an adapter plugin are the user's: checked with their line."""

from importlib.metadata import EntryPoint

import pytest

from pico_gz.adapters import registry
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.problems import FleetFileError
from pico_gz.run.options import RunOptions
from pico_gz.run.simulators import make_adapters


class Cart(LightweightAdapter):
    adapter_type = "cart"

    def __init__(self, *, wheels: int, name: str | None = None, speed_mps: float = 1.0) -> None:
        super().__init__(name=name, seed=1)
        if speed_mps < 0.0:
            raise ValueError("speed_mps must be 0 or more")
        self.wheels = wheels + 0  # a text raises a TypeError


@pytest.fixture
def load(monkeypatch, tmp_path):
    point = EntryPoint("cart", f"{__name__}:Cart", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])

    def load_text(options):
        path = tmp_path / "fleet.toml"
        path.write_text(f"[fleet]\nadapter = 'c2'\n[adapters.c2]\ntype = 'cart'\n{options}")
        return load_fleet(path, environ={})

    return load_text


def test_options_become_keywords(load):
    (adapter,) = make_adapters(load("wheels = 4\n"), RunOptions())
    assert (adapter.name, adapter.wheels) == ("c2", 4)


@pytest.mark.parametrize(
    ("options", "key", "line", "word"),
    [
        ("wheels = 4\nspeed = 2\n", "adapters.c2.speed", 6, "'speed_mps'"),
        ("speed_mps = 2.0\n", "adapters.c2.wheels", 3, "needs this option"),
    ],
)
def test_an_option_that_the_class_does_not_take_is_named(load, options, key, line, word):
    with pytest.raises(FleetFileError) as caught:
        load(options)
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == (key, line)
    assert word in str(problem)


@pytest.mark.parametrize("options", ["wheels = 'four'\n", "wheels = 4\nspeed_mps = -1.0\n"])
def test_a_value_that_the_class_refuses_is_no_defect_of_the_kit(load, options):
    with pytest.raises(ConfigError, match=r"'cart' does not take the options of \[adapters.c2\]"):
        make_adapters(load(options), RunOptions())
