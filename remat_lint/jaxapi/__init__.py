"""Knowledge about JAX and its libraries, kept as plain tables: nothing here imports JAX or libcst."""
