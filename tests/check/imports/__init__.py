"""What may import what: layers, circles, the rooms of the pipeline."""
