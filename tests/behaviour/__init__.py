"""The behaviour rows (B001 …) over real sockets. Run with ``--against=java`` they hold for the Java server too."""
