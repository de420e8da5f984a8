"""What documents name is there: the map, links, recipes."""
