"""What `make bench` measures, one module each; nothing in here is a test."""
