"""The route of one record through a model, the same for topics and for files."""
