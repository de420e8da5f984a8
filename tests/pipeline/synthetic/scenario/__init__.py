"""How large the synthetic fleet is, what it consists of, and which faults happen when."""
