"""Several evaluations of one file: their status, their open runs."""
