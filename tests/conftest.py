pytest_plugins = ["connectors.kafka.pytest_plugin"]
