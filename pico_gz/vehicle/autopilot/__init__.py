"""The built-in rover autopilot.

``rover_autopilot.RoverAutopilot`` runs on a platform: ``estimator`` turns samples into a state, the
``modes_*`` decide where to drive, ``navigation`` and ``control`` turn that into outputs;
``failsafe``, ``mission`` and ``gcs_commands`` serve the ground station.
"""
