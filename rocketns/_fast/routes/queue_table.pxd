"""Nothing of queue_table.pyx is for compiled callers."""
