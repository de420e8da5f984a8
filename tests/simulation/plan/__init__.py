"""What a seed decides: the deployment, the faults, and when they happen."""
