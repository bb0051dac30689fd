"""What each step of the workflow does: a module a step, so that a step's code is what it imports and no more."""
