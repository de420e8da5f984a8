"""`rocketns replay`: plays what was recorded to a name server, and compares its answers with the recorded ones."""
