"""The jobs of rocketns/pipeline/jobs/queues once more, in SQL."""
