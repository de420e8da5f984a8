"""What `rocketns collect` costs beside name servers of a large fleet."""
