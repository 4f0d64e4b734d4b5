"""The full-screen app: draws what a feed tells, and sends commands back."""
