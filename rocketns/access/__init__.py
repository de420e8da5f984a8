"""Who may do what: a policy, what is known of a peer, and the decision. No socket, no file, no clock of its own."""
