"""One record through its model, the same for topics and for files."""
