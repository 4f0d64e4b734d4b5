"""Widgets that draw lines on demand."""
