"""What differs between two answers is found and named, and nothing else."""
