#!/bin/sh
# Run once by the PostgreSQL image, as superuser, when its volume is empty. contextfind works as a role of its own: for a
# superuser row-level security, the second lock between accounts, would not hold.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set password="$POSTGRES_PASSWORD" --set database="$POSTGRES_DB" <<'SQL'
CREATE ROLE contextfind LOGIN PASSWORD :'password';
GRANT CREATE ON DATABASE :"database" TO contextfind;
CREATE EXTENSION IF NOT EXISTS vector;
SQL
