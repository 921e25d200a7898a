"""The processor between Kafka topics."""
