"""The tools behind the commands: bench, doctor, comparison, containers.

The modules of ``pico_gz.cli`` parse options and print; what they call is here.
"""
