"""Names of adapters: built-ins, plugins, broken plugins."""

from importlib.metadata import EntryPoint

import pytest

from pico_gz.adapters import registry
from pico_gz.errors import ConfigError, UnknownAdapterError
from pico_gz.testing.scripted_adapter import ScriptedAdapter


@pytest.fixture
def plugins(monkeypatch):
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "_reported", set())
    monkeypatch.setattr(registry, "entry_points", lambda group: list(points))

    def add(name: str, value: str) -> None:
        points.append(EntryPoint(name, value, registry.ENTRY_POINT_GROUP))

    return add


def test_built_ins_are_listed_without_importing_them(plugins):
    assert registry.adapter_names() == ["lightweight", "gazebo", "mujoco", "jsbsim"]


def test_a_plugin_is_found_by_its_name(plugins):
    plugins("mine", "pico_gz.testing.scripted_adapter:ScriptedAdapter")
    assert registry.load_adapter("mine") is ScriptedAdapter


def test_an_unknown_name_answers_with_the_nearest(plugins):
    with pytest.raises(UnknownAdapterError) as caught:
        registry.load_adapter("lightwieght")
    assert "'lightweight'" in caught.value.hint


def test_a_broken_plugin_is_named_and_breaks_no_other(plugins):
    plugins("broken", "no_such_module:Thing")
    plugins("mine", "pico_gz.testing.scripted_adapter:ScriptedAdapter")
    with pytest.raises(ConfigError, match=r"'broken'.*no_such_module"):
        registry.load_adapter("broken")
    infos = {info.name: info for info in registry.describe_adapters()}
    assert infos["mine"].usable
    assert not infos["broken"].usable
    assert "no_such_module" in infos["broken"].reason


def test_a_plugin_may_not_replace_a_built_in(plugins):
    plugins("lightweight", "pico_gz.testing.scripted_adapter:ScriptedAdapter")
    assert registry.load_adapter("lightweight") is not ScriptedAdapter
    reasons = [i.reason for i in registry.describe_adapters() if i.name == "lightweight"]
    assert any("may not replace" in reason for reason in reasons)


def test_a_plugin_that_is_no_adapter_is_refused(plugins):
    plugins("odd", "pico_gz.errors:PicoGzError")
    with pytest.raises(ConfigError, match="not a SimulatorAdapter"):
        registry.load_adapter("odd")


def test_a_plugin_that_ends_the_program_is_named_and_breaks_no_other(plugins, monkeypatch):
    plugins("exits", "exits:Thing")
    plugins("mine", "pico_gz.testing.scripted_adapter:ScriptedAdapter")

    def load(point):
        if point.name == "exits":
            raise SystemExit("no licence")
        return ScriptedAdapter

    monkeypatch.setattr(EntryPoint, "load", load)
    with pytest.raises(ConfigError, match=r"'exits'.*no licence"):
        registry.load_adapter("exits")
    infos = {info.name: info for info in registry.describe_adapters()}
    assert infos["mine"].usable
    assert "no licence" in infos["exits"].reason


def test_a_plugin_that_ends_the_program_when_asked_is_reported(plugins, monkeypatch):
    plugins("mine", "pico_gz.testing.scripted_adapter:ScriptedAdapter")

    def leave(cls):
        raise SystemExit("not on this machine")

    monkeypatch.setattr(ScriptedAdapter, "unavailable_reason", classmethod(leave))
    infos = {info.name: info for info in registry.describe_adapters()}
    assert "not on this machine" in infos["mine"].reason


def test_what_is_ignored_is_said_once(plugins, caplog):
    plugins("lightweight", "pico_gz.testing.scripted_adapter:ScriptedAdapter")
    plugins("mine", "pico_gz.testing.scripted_adapter:ScriptedAdapter")
    plugins("mine", "pico_gz.testing.scripted_adapter:Another")
    for _ in range(3):
        registry.describe_adapters()
        registry.adapter_names()
    assert sorted(caplog.messages) == [
        "adapter plugin 'lightweight' of an unknown package ignored: it may not replace a built-in",
        "adapter plugin 'mine' of an unknown package ignored: there is another one of this name",
    ]
