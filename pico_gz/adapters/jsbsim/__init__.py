"""JSBSim: aircraft, flown in this process."""
