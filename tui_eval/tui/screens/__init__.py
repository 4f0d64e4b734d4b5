"""The screens, and what opens over them."""
