"""The least that a Textual app can be: nothing on the screen."""

from __future__ import annotations

from textual.app import App

if __name__ == "__main__":
    App[None]().run()
