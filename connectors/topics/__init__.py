"""The processor between topics of Kafka."""
