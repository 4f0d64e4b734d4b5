"""The terminal of a screen: drivers, output, frames, keys, signals."""
