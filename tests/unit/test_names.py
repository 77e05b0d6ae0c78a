"""Test files have names of their own: pytest imports them by name alone."""

from collections import Counter
from pathlib import Path


def test_no_two_test_files_share_a_name():
    names = Counter(
        path.name
        for path in Path(__file__).parents[1].rglob("*.py")
        if path.name not in ("__init__.py", "conftest.py")
    )
    assert [name for name, count in names.items() if count > 1] == []
