#!/bin/sh
# Run the service's command as the image of Redis does: as a user of its own, open to the container's network.
set -eu
if [ "$(id -u)" = 0 ]; then exec setpriv --reuid=redis --regid=redis --init-groups "$@"; fi
exec "$@"
