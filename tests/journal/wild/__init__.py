"""Random histories of one name server, its restarts among them; what it answers before and after each restart."""
