"""Environments that come with the program, written as anybody would write their own."""
