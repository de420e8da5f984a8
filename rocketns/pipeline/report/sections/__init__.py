"""The sections of the report: each answers one question from the result tables."""
