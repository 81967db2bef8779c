"""Tuners: weights that maximise a metric, from candidates of any system."""
