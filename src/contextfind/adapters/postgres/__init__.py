"""A PostgreSQL database as store, index and shelf of several processes; needs the extra `postgres`."""
