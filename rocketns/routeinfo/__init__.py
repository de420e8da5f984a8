"""The state of the name server: RocketMQ's route tables as plain data. No clock, no socket, no file, no log."""
