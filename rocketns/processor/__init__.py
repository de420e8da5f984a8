"""What each request code does: (command, peer, now) → reply. Errors become replies in `dispatch`, nowhere else."""
