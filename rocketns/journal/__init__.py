"""The journal: what changed in the route table, written as JSON Lines by a thread of its own."""
