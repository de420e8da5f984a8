"""The page of costs: figures, verdicts, and what is worse."""
