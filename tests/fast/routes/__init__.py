"""The twins in `rocketns/_fast/routes/`: slots, lookups in them, and control's changes to them."""
