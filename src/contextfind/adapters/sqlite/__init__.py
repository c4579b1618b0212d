"""SQLite: records, jobs and identities in one file, `contextfind.db`."""
