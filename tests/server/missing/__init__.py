"""Topics that are asked for and have no route."""
