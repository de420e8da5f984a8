"""What reactors read of the tables: fragments, slots and the look-up in them."""
