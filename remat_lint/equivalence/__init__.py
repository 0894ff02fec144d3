"""Equivalence tests: what to test, with which inputs, the generated text, the run in the user's interpreter, the report."""
