"""Files: the lock of a data directory, blobs, uploads, and trees to be ingested."""
