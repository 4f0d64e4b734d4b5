"""Colours, figures and wrapped text."""
