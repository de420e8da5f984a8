"""What access control costs route lookups."""
