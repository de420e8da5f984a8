"""The process that judges pairs: compares them, asks both servers again, and tells the relay what it counted."""
