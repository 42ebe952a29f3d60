"""One module for each command behind ``make``."""
