"""Numbers, durations and status words for people: what console and screen both print."""
