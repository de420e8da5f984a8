"""A folder on this machine, and one of Hadoop's file systems: HDFS, S3 and others."""
