#!/bin/sh
# Make the database at the first start, with a server on the Unix socket alone, then serve it.
set -eu
data=/var/lib/postgresql/18/docker
as_postgres="setpriv --reuid=postgres --regid=postgres --init-groups"
mkdir -p "$data" /var/run/postgresql
chown -R postgres:postgres /var/lib/postgresql /var/run/postgresql
if [ ! -s "$data/PG_VERSION" ]; then
  (umask 077; printf %s "$POSTGRES_PASSWORD" > /tmp/password; chown postgres /tmp/password)
  $as_postgres initdb --encoding=UTF8 --locale=C.UTF-8 --username="$POSTGRES_USER" --pwfile=/tmp/password \
    --pgdata="$data" --auth-host=scram-sha-256 --auth-local=trust > /dev/null
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  $as_postgres pg_ctl --pgdata="$data" --options="-c listen_addresses=''" --wait start > /dev/null
  $as_postgres createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  $as_postgres pg_ctl --pgdata="$data" --mode=fast --wait stop > /dev/null
fi
exec $as_postgres postgres -D "$data" -c "listen_addresses=*"
