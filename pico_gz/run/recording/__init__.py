"""Recordings: what happened in a run, kept in a folder.

``recorder`` writes an MCAP file beside the run's facts (``run_folder``), readable up to the last
second after a kill; ``recorded_run`` reads it; ``diff`` and ``plots`` compare and draw.
"""
