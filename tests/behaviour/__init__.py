"""The behaviour rows (B001 …) over real sockets that no parity scenario can show."""
