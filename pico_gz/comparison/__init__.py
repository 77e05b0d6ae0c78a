"""The same commands on two simulators, and how far apart the rovers end up."""
