"""Everything that documents name exists: the map, links, recipes."""
