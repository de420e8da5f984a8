"""How brokers leave: overdue, unregistered, unconfirmed, and who is then the smallest id."""
