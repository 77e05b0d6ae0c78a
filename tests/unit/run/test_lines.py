"""Line numbers of keys in TOML text."""

import tomllib

import pytest

from pico_gz.run.config.toml_lines import KeyLines

TEXT = '''\
# a comment with [brackets] and = signs
top = 1
[fleet]            # [not.a.table]
count = 3
"quoted key" = 4
links = [
  "a]b", # ] in a comment
  'c[d',
]
after_list = 1
text = """
[no.table]
fake = 1
"""
after_text = 2
inline = { a = 1, b = { c = 2 } }
dotted.key.here = 5

[adapters.mine]
type = "x"
[[vehicle]]
id = 1
[[vehicle]]
id = 2
[vehicle.extra]
deep = true
[[vehicle]]
literal = \'\'\'
id = 77
\'\'\'
id = 3
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("fleet",), 3),
        (("fleet", "count"), 4),
        (("fleet", "quoted key"), 5),
        (("fleet", "links"), 6),
        (("fleet", "links", 1), 6),
        (("fleet", "after_list"), 10),
        (("fleet", "text"), 11),
        (("fleet", "after_text"), 15),
        (("fleet", "inline", "b", "c"), 16),
        (("fleet", "dotted", "key", "here"), 17),
        (("adapters", "mine", "type"), 20),
        (("vehicle",), 21),
        (("vehicle", 0, "id"), 22),
        (("vehicle", 1), 23),
        (("vehicle", 1, "id"), 24),
        (("vehicle", 1, "extra", "deep"), 26),
        (("vehicle", 2, "id"), 31),
    ],
)
def test_finds_the_line_of_a_key(path, line):
    tomllib.loads(TEXT)  # the scanner may rely on valid text
    assert KeyLines(TEXT).find(path) == line


def test_a_key_that_is_not_there_gives_its_table():
    assert KeyLines(TEXT).find(("fleet", "missing")) == 3
    assert KeyLines(TEXT).find(("vehicle", 1, "name")) == 23


def test_a_table_that_is_not_there_gives_nothing():
    assert KeyLines(TEXT).find(("origin", "lat_deg")) == 0
    assert KeyLines("").find(("fleet",)) == 0
