"""Tests of the parts of rocketns.server that need no socket; those with one are in behaviour, timed and hostile."""
