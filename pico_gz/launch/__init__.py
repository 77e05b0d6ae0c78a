"""Starts, watches, steers and stops Gazebo; nothing here is on the control path."""
