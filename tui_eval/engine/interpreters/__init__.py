"""The interpreters that workers run in: found, inspected, and given missing packages."""
