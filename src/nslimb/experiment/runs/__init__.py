"""The files of a run as typed schemas, a module each, so that a step depends on those that it reads and writes."""
