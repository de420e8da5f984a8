"""Bodies: registrations in all their forms, and the routes and tables of answers."""
