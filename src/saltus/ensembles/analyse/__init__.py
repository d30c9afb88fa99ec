"""What a stored ensemble says: statistics, sensitivities, and the report of both."""
