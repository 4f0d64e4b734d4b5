"""The home screen: runs, environments, endpoints."""
