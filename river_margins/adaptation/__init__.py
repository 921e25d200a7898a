"""Learners that adapt a trained model to its users: log-linear models, reranking, mixtures, one step per example."""

__all__: list[str] = []
