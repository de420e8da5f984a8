"""How much the tables hold, in all and for each broker name."""
