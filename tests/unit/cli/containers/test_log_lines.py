"""Log streams as lines in the order of time."""

from pico_gz.cli.tools.containers.engine import lines_of, merged


def test_pieces_need_not_be_lines():
    pieces = [b"2026-01-01T00:00:00.5Z one\n2026-01-01T00:00:", b"01Z t", b"wo\r\n", b"2026Z rest"]
    lines = list(lines_of("gazebo", pieces))
    assert [line.text for line in lines] == ["one", "two", "rest"]
    assert lines[0].time == "2026-01-01T00:00:00.500000000Z"


def test_streams_are_merged_by_time():
    first = lines_of("a", [b"2026-01-01T00:00:00.9Z 1\n2026-01-01T00:00:02Z 4\n"])
    second = lines_of("b", [b"2026-01-01T00:00:00.91Z 2\n2026-01-01T00:00:01.000000001Z 3\n"])
    assert [line.text for line in merged([first, second])] == ["1", "2", "3", "4"]


def test_what_is_no_text_does_not_stop_the_log():
    (line,) = lines_of("a", [b"2026Z \xff\xfe ok\n"])
    assert line.text.endswith("ok")
