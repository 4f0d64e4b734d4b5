"""Ways out of the screen: copies, exports, other programs."""
