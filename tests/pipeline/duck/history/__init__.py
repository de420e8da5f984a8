"""The jobs of rocketns/pipeline/jobs/history once more, in SQL."""
