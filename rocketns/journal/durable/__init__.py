"""What survives the process and the machine, and who waits for it."""
