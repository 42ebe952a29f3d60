"""The lessons, and the launcher behind `python3 -m lessons <command>`."""
