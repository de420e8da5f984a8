"""Which lines of a journal are records, in plain Python: for the restore and for `rocketns audit explain`."""
