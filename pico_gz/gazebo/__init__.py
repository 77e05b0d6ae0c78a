"""Gazebo: its adapter, its process, its worlds and its lint.

``adapter.GazeboAdapter`` talks to the ArduPilot plugin over ``fleet_wire``; ``server`` runs a
``gz sim``, ``world_control`` and ``worker_client`` reach its services and topics. ``worlds`` writes
SDF, ``lint`` checks it.
"""
