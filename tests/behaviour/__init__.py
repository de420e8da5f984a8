"""The behaviour rows (B001 …) over real sockets. With ``--against=java`` they run against the Java server."""
