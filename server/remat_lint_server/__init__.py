"""The language server of remat-lint: a thin shell that shows editors what the command line reports."""
