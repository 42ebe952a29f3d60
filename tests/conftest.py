"""The lab's checks are ordinary pytest tests; what makes them a grading is in `grading.plugin`."""

pytest_plugins = ["grading.plugin"]
