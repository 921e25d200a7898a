"""How long a test waits for an event. What takes long on a busy machine is not an error: only waiting for ever is."""

DEADLINE = 120.0  # seconds
