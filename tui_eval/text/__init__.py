"""Numbers, bars, keys, durations and status words for people, on console and screen."""
