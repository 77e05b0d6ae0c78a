"""From a fleet file to a run: configuration, composition, recording.

``fleet_run.FleetRun`` puts a run together; the ``*_setup`` modules build its parts. ``config``
reads the fleet file, ``recording`` keeps what happened, ``replay`` and ``rerun`` use it again;
``commands`` and ``control_socket`` steer a run from outside.
"""
