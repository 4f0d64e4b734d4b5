"""What leaves the screen: copies, exports, other programs."""
