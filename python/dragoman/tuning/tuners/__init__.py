"""The tuners: a frozen dataclass of options each, and the session that does its work."""
