"""Recordings of frames, for `rocketns replay`: what is left out of them, and their file."""
