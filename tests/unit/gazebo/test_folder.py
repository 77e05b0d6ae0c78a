"""Writing into folders without harm."""

import pytest

from pico_gz.errors import ConfigError
from pico_gz.gazebo.worlds.folder import compare_folder, write_folder
from pico_gz.gazebo.worlds.render import Origin, origin_of, stamped

NAMES = ("world.sdf", "README.md", "ports.toml", "terrain.obj", "models/a/model.config")


def files(*names, body="<sdf/>\n"):
    return {name: stamped(name, body, "fleet.toml") for name in names}


@pytest.mark.parametrize("name", NAMES)
def test_a_stamp_tells_whose_a_file_is(name):
    text = stamped(name, "one\ntwo\n", "fleet.toml")
    assert origin_of(text) is Origin.GENERATED
    assert origin_of(text.replace("two", "three")) is Origin.EDITED
    assert origin_of("one\ntwo\n") is Origin.FOREIGN
    assert "fleet.toml" in text.splitlines()[0 if name.endswith((".md", ".toml", ".obj")) else 1]


def test_a_stamp_cannot_be_broken_out_of():
    text = stamped("world.sdf", "<sdf/>\n", "--><script>\n----.toml")
    header = text.partition("<sdf/>")[0]
    assert header.count("-->") == 1
    assert "--" not in header.replace("<!--", "").replace("-->", "")
    assert "<script>" not in header


def test_write_then_compare(tmp_path):
    made = files(*NAMES)
    before = write_folder(tmp_path / "out", made)
    assert set(before.missing) == set(NAMES)
    assert compare_folder(tmp_path / "out", made).is_current
    assert (tmp_path / "out/models/a/model.config").read_text() == made["models/a/model.config"]


def test_out_of_date_files_are_written_again(tmp_path):
    write_folder(tmp_path, files("world.sdf"))
    newer = files("world.sdf", body="<sdf version='1.9'/>\n")
    assert compare_folder(tmp_path, newer).lines() == ["world.sdf: out of date"]
    write_folder(tmp_path, newer)
    assert compare_folder(tmp_path, newer).is_current


@pytest.mark.parametrize("spoil", [lambda text: text + "<!-- mine -->", lambda _: "mine"])
def test_what_people_wrote_is_kept(tmp_path, spoil):
    made = files("world.sdf", "ports.toml")
    write_folder(tmp_path, made)
    (tmp_path / "world.sdf").write_text(spoil(made["world.sdf"]))
    (tmp_path / "ports.toml").unlink()
    mine = (tmp_path / "world.sdf").read_text()
    with pytest.raises(ConfigError, match=r"world\.sdf") as caught:
        write_folder(tmp_path, made)
    assert "--force" in caught.value.hint
    assert (tmp_path / "world.sdf").read_text() == mine
    assert not (tmp_path / "ports.toml").exists()
    write_folder(tmp_path, made, force=True)
    assert compare_folder(tmp_path, made).is_current


def test_models_of_rovers_that_left_are_removed(tmp_path):
    write_folder(tmp_path, files("world.sdf", "models/a/model.sdf", "models/b/model.sdf"))
    (tmp_path / "models/c").mkdir()
    (tmp_path / "models/c/model.sdf").write_text("somebody else's")
    fewer = files("world.sdf", "models/a/model.sdf")
    assert compare_folder(tmp_path, fewer).left_over == ("models/b/model.sdf",)
    write_folder(tmp_path, fewer)
    assert not (tmp_path / "models/b").exists()
    assert (tmp_path / "models/c/model.sdf").exists()
    assert compare_folder(tmp_path, fewer).is_current


@pytest.mark.parametrize("name", ["../x.sdf", "models/../../x.sdf", "/etc/x.sdf"])
def test_nothing_is_written_outside(tmp_path, name):
    with pytest.raises(ConfigError, match="outside"):
        write_folder(tmp_path / "out", files(name))


def test_not_even_through_a_link(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/models").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="outside"):
        write_folder(tmp_path / "out", files("models/a/model.sdf"))


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_folder_that_is_a_file(tmp_path, below):
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="out is no folder") as caught:
        write_folder(tmp_path / "out" / below, files("world.sdf"))
    assert "-o" in caught.value.hint


def test_a_left_over_model_that_was_edited_stays_whole(tmp_path):
    model = ("models/b/model.sdf", "models/b/model.config")
    made = files("world.sdf", *model, "models/c/model.sdf", "terrain.obj")
    write_folder(tmp_path, made)
    edited = tmp_path / model[0]
    edited.write_text(made[model[0]] + "<!-- mine -->")
    fewer = files("world.sdf")
    before = write_folder(tmp_path, fewer)
    assert before.left_over == ("models/c/model.sdf", "terrain.obj")
    assert all((tmp_path / name).exists() for name in model)
    assert not (tmp_path / "models/c").exists()
    after = compare_folder(tmp_path, fewer)
    assert set(after.edited_left_over) == set(model)
    assert not after.is_current
    assert "models/b/model.sdf: left over, edited by hand" in after.lines()
    write_folder(tmp_path, fewer, force=True)
    assert compare_folder(tmp_path, fewer).is_current
