"""What happened lately: the last changes, for the API and for those who look at the moment."""
