"""docs/architecture.md names every file's idea, and ideas are short."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from make_file_table import PAGE, idea_of, page_with_table  # noqa: E402

MAX_WORDS = 12


def test_the_page_lists_every_file_with_its_idea():
    page = PAGE.read_text()
    assert page == page_with_table(page), "run: python scripts/make_file_table.py"


def test_an_idea_fits_into_twelve_words():
    files = [path for path in (ROOT / "pico_gz").rglob("*.py") if path.name != "__init__.py"]
    long = {str(path.relative_to(ROOT)): idea_of(path) for path in files}
    assert {
        path: idea for path, idea in long.items() if not 1 <= len(idea.split()) <= MAX_WORDS
    } == {}
