"""MuJoCo: rovers with wheels and contacts in three dimensions (extra ``mujoco``).

``mjcf`` and ``rover_mjcf`` write the model, ``physics`` steps it, ``wheel_drive`` turns commands
into wheel speeds, and ``adapter`` is the simulator that the bridge sees.
"""
