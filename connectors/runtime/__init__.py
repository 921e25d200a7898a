"""Parts that run beside the work: the request to end, health, metrics, the watchdog."""
