"""``make soak``: real server processes for a long time, disturbed again and again, each answer checked."""
