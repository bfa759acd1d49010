#!/bin/sh
# Run the service's command as the image of Redis does: as a user of its own, open to the container's network.
set -eu
exec setpriv --reuid=redis --regid=redis --init-groups "$@" --protected-mode no --bind 0.0.0.0
