"""What an ensemble computes: the systems of many samples, their runs, and what is kept of each."""
