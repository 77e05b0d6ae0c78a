"""The simulated board of a vehicle and its peripherals."""
