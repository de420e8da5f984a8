"""Topics that clients ask for and no broker has: who asked, the nearest names, a line in the log."""
