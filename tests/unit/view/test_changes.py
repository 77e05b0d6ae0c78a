from pico_gz.view.source import Changes


def test_a_new_reader_gets_everything():
    changes = Changes()
    changes.update({1: "a", 2: "b"})
    assert changes.after(0) == {1: "a", 2: "b"}


def test_a_reader_gets_only_what_changed_since():
    changes = Changes()
    changes.update({1: "a", 2: "b"})
    seen = changes.version
    changes.update({1: "a", 2: "c"})
    assert changes.after(seen) == {2: "c"}
    assert changes.after(changes.version) == {}


def test_equal_values_are_no_change():
    changes = Changes()
    changes.update({1: ("a", {})})
    seen = changes.version
    changes.update({1: ("a", {})})
    assert changes.version == seen


def test_a_slow_reader_skips_what_is_outdated():
    changes = Changes()
    for value in range(100):
        changes.update({1: value})
    assert changes.after(1) == {1: 99}
