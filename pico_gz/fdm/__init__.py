"""Lets external autopilots drive any adapter's vehicles: the simulator's end of the wire."""
