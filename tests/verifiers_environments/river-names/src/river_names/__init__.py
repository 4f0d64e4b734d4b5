"""The name under which the package is found."""

from rivers.environment import load_environment

__all__ = ["load_environment"]
