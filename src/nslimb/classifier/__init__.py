"""A classifier of one's own images, learned from weak labels: trained, asked, saved and loaded."""

from nslimb.classifier.estimator import WeakClassifier

__all__ = ["WeakClassifier"]
