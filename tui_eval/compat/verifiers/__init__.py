"""What verifiers has in its inner modules and we have nowhere else, a module for each of theirs."""
