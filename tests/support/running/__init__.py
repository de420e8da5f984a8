"""How a run of all tests is dealt out, and what it says at its end."""
