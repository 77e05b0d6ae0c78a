"""What every room uses: messages, units, frames, the rover description, ports."""
