"""What runs beside the work: signals, health, metrics, the watchdog."""
