"""The figures the kit promises, measured on the machine at hand (``pico-gz bench``)."""
