"""``python -m pico_gz`` is the ``pico-gz`` command."""

from pico_gz.cli.signals import leave_on_signal


def main() -> None:
    """Run the command line; signals have their exit code from the first line on."""
    leave_on_signal()
    from pico_gz.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
