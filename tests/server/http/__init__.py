"""What the HTTP ports read: heads of requests, one at a time."""
