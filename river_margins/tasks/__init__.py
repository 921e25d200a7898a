"""What a label demands."""
