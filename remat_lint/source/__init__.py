"""From paths to text and from text to chunks: finding files, decoding them, cutting them into statements."""
