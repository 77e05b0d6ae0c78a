"""The pico-gz command: one table of commands, and the tools behind them."""
