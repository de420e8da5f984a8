"""What confines the process: no core dumps, and no code that is made at run time."""
