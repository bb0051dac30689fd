"""From a grid of cells to tables, figures and tracked runs."""
