"""The jobs on journals, through Spark. Each is compared with hand-computed frames and with its twin in ``duck/``."""
