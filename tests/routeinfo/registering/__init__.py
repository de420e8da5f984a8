"""Registrations: step by step, their topics, repeated bodies."""
