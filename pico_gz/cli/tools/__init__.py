"""The tools behind the commands: bench, doctor, comparison, containers."""
