"""Everything that reads or writes files, starts Spark or sends over the network."""
