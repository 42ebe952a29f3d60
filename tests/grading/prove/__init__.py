"""The proof gate: one module for each property of the lab, listed in `grading.prove.table`."""
