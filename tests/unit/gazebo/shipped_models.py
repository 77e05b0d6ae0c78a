"""The script that writes models/, for tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from _shipped_models import library_files, prop_models

__all__ = ["library_files", "prop_models"]
