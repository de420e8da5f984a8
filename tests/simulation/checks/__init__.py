"""The invariants. `tests.simulation` states them with their bounds."""
