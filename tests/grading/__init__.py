"""The judge: runs checks against parts that it never imports."""
