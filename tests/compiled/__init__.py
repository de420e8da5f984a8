"""A compiled module that only tests call. `make` builds it with rocketns/_fast; no installation has it."""
