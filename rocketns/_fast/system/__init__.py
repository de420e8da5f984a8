"""What the compiled parts ask of the system: sockets, threads, atomic operations, memory."""
