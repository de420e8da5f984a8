"""Brokers that are kept in the routes without a sign of life: restored, seeded, or silent together with many others."""
