"""What sigma hides: before any training, which classes it will make hard, and why."""

from nslimb.diagnosis.examine import diagnose
from nslimb.diagnosis.result import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
