"""The named estimators, one module for each family of algorithms."""
