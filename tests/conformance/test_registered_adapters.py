"""Every registered adapter keeps the contract; Gazebo does so against a peer of its own."""

from importlib.util import find_spec

import pytest

from pico_gz import LightweightAdapter, LightweightConfig
from pico_gz.adapters.mujoco.adapter import MujocoAdapter
from pico_gz.adapters.registry import BUILT_IN, load_adapter
from pico_gz.testing import check_adapter

JSBSIM = [
    pytest.mark.jsbsim,
    pytest.mark.skipif(find_spec("jsbsim") is None, reason="the extra jsbsim is not installed"),
]
FACTORIES = {
    "lightweight": [
        lambda: LightweightAdapter(seed=3),
        lambda: LightweightAdapter(LightweightConfig(preset="ideal"), seed=3),
    ],
    "gazebo": [],  # test_gazebo_contract.py
    "mujoco": [],  # below: it needs the extra
    "jsbsim": [pytest.param(lambda: load_adapter("jsbsim")(seed=3), marks=JSBSIM)],
}


@pytest.mark.parametrize("factory", [f for made in FACTORIES.values() for f in made])
def test_contract(factory):
    passed = check_adapter(factory)
    assert {"threads", "snapshot", "commands", "removal", "determinism"} <= set(passed)


@pytest.mark.mujoco
def test_contract_of_mujoco():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    passed = check_adapter(lambda: MujocoAdapter(seed=3))
    assert {"threads", "snapshot", "commands", "removal", "determinism"} <= set(passed)


def test_no_registered_adapter_is_left_out():
    assert set(FACTORIES) == set(BUILT_IN)
