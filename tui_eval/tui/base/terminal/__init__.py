"""How a screen reaches its terminal and leaves it: drivers, output, frames, keys, signals."""
