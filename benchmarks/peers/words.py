"""What systems and measures are called in rows, the page and the figure."""

OURS, ON_OURS, ON_SDD = "nslimb", "KLay on our diagram", "KLay on PySDD's circuit"
LOSS, COMPILATION = "loss of a batch, ms", "compilation, s"
NOT_INSTALLED = "not installed here"
