"""An incident in sentences: what is wrong, where, since when, whom it hurts, what to do first."""
