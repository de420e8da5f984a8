"""What a run says beside its tables: the records that incidents name, and doubts."""
