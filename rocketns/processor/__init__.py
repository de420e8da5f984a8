"""One function for each request code: (context, command, peer, now) → reply. `dispatch` turns errors into replies."""
