"""What a project says as a whole: names across files, wrap sites, who calls what and in which order."""
