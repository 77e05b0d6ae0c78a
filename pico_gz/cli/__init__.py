"""The pico-gz command: one table of commands, and the tools behind them.

``app`` is the table; every other module here holds the commands of one subject. What they need
beyond a run (bench, doctor, comparison, containers) lives in ``tools``.
"""
