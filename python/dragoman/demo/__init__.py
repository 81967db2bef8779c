"""The demonstrations behind `dragoman demo` (small) and `make demo` (full: from a corpus to a report)."""
