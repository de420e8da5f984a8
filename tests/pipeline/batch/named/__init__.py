"""What the incidents of a run name, looked up in the journal."""
