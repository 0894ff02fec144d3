"""What runs beside user code, in the user's interpreter: the switch `no_remat`, fresh loading, and the checks.

Only the standard library, numpy, jax and the modules of this folder are imported here, and the syntax is that of
Python 3.10, because a copy of this folder is all that `remat-lint run` adds to the user's environment.
"""
