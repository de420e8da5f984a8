"""How much the tables hold, for each broker and in all, and whether a request may add to it."""
