"""What docs/limits.md states for the stage's configuration, and which figures of a run are beyond it."""
