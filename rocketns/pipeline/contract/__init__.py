"""What all rooms of the pipeline agree on: columns of each frame, what each figure means, errors. No job, no file."""
