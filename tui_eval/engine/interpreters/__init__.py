"""The interpreters that workers run in: found, looked at, and given what they lack."""
