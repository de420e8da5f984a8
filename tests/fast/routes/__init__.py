"""The twins in `rocketns/_fast/routes/`: slots, lookups in them, and what control changes there."""
