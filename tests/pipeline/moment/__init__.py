"""`explain`: the routes of one moment."""
