"""Vehicle ids for people."""

import pytest

from pico_gz.gazebo.fleet_wire import id_text


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([2, 1], "1, 2"),
        ([10, 1, 3, 2, 7, 9], "1-3, 7, 9, 10"),
        (range(1, 256), "1-255"),
    ],
)
def test_runs_become_ranges(ids: list[int], text: str) -> None:
    assert id_text(ids) == text
