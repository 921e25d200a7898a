"""The processor between files."""
