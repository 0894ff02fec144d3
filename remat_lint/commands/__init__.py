"""The commands, one a module with one function `run(arguments, console)` that returns the exit code."""
