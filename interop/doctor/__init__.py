"""Fleets of real brokers with one fault each, and some without: `rocketns doctor` names the fault first."""
