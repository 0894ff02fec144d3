"""What a piece of program text says, taken out of libcst once and kept in a small form."""
