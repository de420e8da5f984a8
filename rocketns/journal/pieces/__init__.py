"""What is written in pieces, so that control goes on in between: snapshots, and the topics of large requests."""
