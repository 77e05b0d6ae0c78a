"""``python -m pico_gz`` is the ``pico-gz`` command."""

from pico_gz.cli.app import main

if __name__ == "__main__":
    main()
