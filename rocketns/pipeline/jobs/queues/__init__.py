"""What divergent routes do to queues: which consumer gets which queue, and where producers send."""
