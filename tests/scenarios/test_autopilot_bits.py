"""The autopilot's outputs have the same bits whatever the processor and the hash seed."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

CODE = """
import hashlib
from driving import SQUARE, Drive
digest = hashlib.sha256()
for preset in ("pico_trail_freenove", "pico_trail_ackermann"):
    drive = Drive(preset, "typical", 11)
    drive.start_mission(SQUARE)
    drive.run(20.0, lambda: digest.update(repr(drive.platform.servo_outputs_us()).encode()))
    digest.update(repr(drive.autopilot.save_state()).encode())
print(digest.hexdigest())
"""


def digest_with(**environment):
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return result.stdout.strip()


def test_outputs_do_not_depend_on_processor_or_hash_seed():
    plain = digest_with(PYTHONHASHSEED="0")
    assert len(plain) == 64
    masked = digest_with(
        PYTHONHASHSEED="1", GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA", TZ="Asia/Tokyo"
    )
    assert masked == plain
