"""The file systems of a folder: this machine's, Hadoop's through Java, and S3 without Java."""
