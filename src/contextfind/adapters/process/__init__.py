"""A second process for pure work, so that one interpreter is free for the finds."""
