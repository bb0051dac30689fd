"""Losses, pseudolabels and the training loop."""
