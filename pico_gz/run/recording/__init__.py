"""Recordings: what happened in a run, kept in a folder."""
