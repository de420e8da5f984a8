"""Journals and tables that are not as usual: damaged, mutated, random, with long names."""
