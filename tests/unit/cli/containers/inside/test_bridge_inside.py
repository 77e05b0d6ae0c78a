"""How the bridge service starts its run."""

import json

from pico_gz.cli.tools.containers.inside.bridge import KEPT_TOKEN, TOKEN_VARIABLE, choose_token


def start(tmp_path, runs, **environ):
    choose_token(environ, runs, tmp_path / "view.json")
    assert json.loads((tmp_path / "view.json").read_text()) == {"token": environ[TOKEN_VARIABLE]}
    assert (tmp_path / "view.json").stat().st_mode & 0o077 == 0
    return environ[TOKEN_VARIABLE]


def test_a_restart_keeps_the_token(tmp_path):
    first = start(tmp_path, tmp_path)
    assert len(first) >= 16
    assert start(tmp_path, tmp_path) == first
    assert (tmp_path / KEPT_TOKEN).stat().st_mode & 0o077 == 0


def test_a_given_token_wins_and_is_not_kept(tmp_path):
    assert start(tmp_path, tmp_path, PICO_GZ_DASHBOARD_TOKEN="g" * 20) == "g" * 20
    assert not (tmp_path / KEPT_TOKEN).exists()


def test_stacks_have_tokens_of_their_own(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert start(tmp_path, tmp_path / "a") != start(tmp_path, tmp_path / "b")


def test_without_a_folder_for_runs_there_is_a_new_token_each_time(tmp_path):
    gone = tmp_path / "gone"
    assert start(tmp_path, gone) != start(tmp_path, gone)
