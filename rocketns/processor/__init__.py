"""One function for each request code: (context, command, peer, now) → reply. `requests` turns errors into replies."""
