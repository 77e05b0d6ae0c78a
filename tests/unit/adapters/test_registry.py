"""Names of adapters: built-ins, plugins, broken plugins."""

from importlib.metadata import EntryPoint

import pytest

from pico_gz.adapters import registry
from pico_gz.errors import ConfigError, UnknownAdapterError
from pico_gz.testing.scripted import ScriptedAdapter


@pytest.fixture
def plugins(monkeypatch):
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: list(points))

    def add(name: str, value: str) -> None:
        points.append(EntryPoint(name, value, registry.ENTRY_POINT_GROUP))

    return add


def test_built_ins_are_listed_without_importing_them(plugins):
    assert registry.adapter_names() == ["lightweight", "gazebo"]


def test_a_plugin_is_found_by_its_name(plugins):
    plugins("mine", "pico_gz.testing.scripted:ScriptedAdapter")
    assert registry.load_adapter("mine") is ScriptedAdapter


def test_an_unknown_name_answers_with_the_nearest(plugins):
    with pytest.raises(UnknownAdapterError) as caught:
        registry.load_adapter("lightwieght")
    assert "'lightweight'" in caught.value.hint


def test_a_broken_plugin_is_named_and_breaks_no_other(plugins):
    plugins("broken", "no_such_module:Thing")
    plugins("mine", "pico_gz.testing.scripted:ScriptedAdapter")
    with pytest.raises(ConfigError, match=r"'broken'.*no_such_module"):
        registry.load_adapter("broken")
    infos = {info.name: info for info in registry.describe_adapters()}
    assert infos["mine"].usable
    assert not infos["broken"].usable
    assert "no_such_module" in infos["broken"].reason


def test_a_plugin_may_not_replace_a_built_in(plugins):
    plugins("lightweight", "pico_gz.testing.scripted:ScriptedAdapter")
    assert registry.load_adapter("lightweight") is not ScriptedAdapter
    reasons = [i.reason for i in registry.describe_adapters() if i.name == "lightweight"]
    assert any("may not replace" in reason for reason in reasons)


def test_a_plugin_that_is_no_adapter_is_refused(plugins):
    plugins("odd", "pico_gz.errors:PicoGzError")
    with pytest.raises(ConfigError, match="not a SimulatorAdapter"):
        registry.load_adapter("odd")
