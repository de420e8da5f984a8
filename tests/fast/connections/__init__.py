"""`rocketns/_fast/connections/`: messages between threads, and the connections that hold the most bytes."""
