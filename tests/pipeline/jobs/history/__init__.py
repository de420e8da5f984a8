"""From records to history: clocks, doubts, gaps and states."""
