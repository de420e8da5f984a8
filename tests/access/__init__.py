"""Access control: policies, decisions, and the takeover guard."""
