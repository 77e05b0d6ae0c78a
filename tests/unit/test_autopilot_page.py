"""docs/builtin-autopilot.md says what the autopilot's own tables say."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from make_autopilot_page import PAGE, page_with_tables  # noqa: E402

from pico_gz.vehicle.autopilot.parameter_table import PARAMETERS  # noqa: E402


def test_the_page_has_the_tables_of_the_code():
    page = PAGE.read_text()
    assert page == page_with_tables(page), "run: python scripts/make_autopilot_page.py"


def test_parameters_named_in_the_text_exist():
    text = PAGE.read_text().partition("<!-- tables: end -->")[2].partition("## What ArduRover")[0]
    named = set(re.findall(r"`((?:FS|BATT|FENCE|CRASH|SYSID)_[A-Z_]+)`", text))
    assert named
    assert named <= set(PARAMETERS)
