"""What reactors read of the tables: fragments, slots and the lookup in them."""
