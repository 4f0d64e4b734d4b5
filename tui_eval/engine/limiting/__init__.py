"""How much goes on at once, how long it may take, and what it may cost."""
