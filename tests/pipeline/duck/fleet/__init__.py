"""The jobs of rocketns/pipeline/jobs/fleet once more, in SQL."""
