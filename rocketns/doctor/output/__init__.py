"""The report as text for people and as JSON for programs."""
