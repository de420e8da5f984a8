"""The counts of a shadow for people and programs: a page, a report in one file, and metrics."""
