"""dragoman."""
