"""The routes of one moment, from the few records around it, in plain values: no query, and Spark only to reach files
that are not on this machine."""
