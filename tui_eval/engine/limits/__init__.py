"""How many rollouts run at once, how long they may take, and what they may cost."""
