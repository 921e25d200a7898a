"""The stream processor: one YAML file turns a Kafka topic into predictions, exactly once."""
