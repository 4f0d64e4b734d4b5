"""The full-screen app: draws the events of a feed and sends commands back."""
