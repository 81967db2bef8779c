"""The command line: parse, call the library, print. A file is a group of commands."""

from dragoman.cli.app import main

__all__ = ["main"]
