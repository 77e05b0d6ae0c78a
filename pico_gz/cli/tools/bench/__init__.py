"""The figures the kit promises, measured on this machine.

``figures`` is how one is taken; the other modules measure: single parts, the full stack, the wire,
Gazebo.
"""
