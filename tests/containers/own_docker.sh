# A Docker daemon of our own, sourced by run.sh; Debian as root, without a Docker on the machine and without a registry.
#
# Docker comes from Debian trixie into $work/host and runs in network and mount namespaces of its own, so that the
# machine's firewall, mounts and packages stay as they are; two packages are installed (mmdebstrap, slirp4netns).
# Base images are made from bookworm in $work/base: Python 3.11 stands for 3.12, PostgreSQL 15 for 18, Redis 7 for 8,
# and Node comes from PyPI. What this cannot show: the real base images, AppArmor, cgroup v2.

inside() { # a command in the daemon's namespaces, where $work is /work
  nsenter -t "$(cat "$work/daemon.pid")" --mount --net --root --wd env -i \
    PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 "$@"
}

stop_own_docker() {
  local name
  for name in daemon network; do
    if [ -f "$work/$name.pid" ]; then
      kill -TERM "$(cat "$work/$name.pid")" 2> /dev/null || true
    fi
  done
  for _ in $(seq 60); do
    kill -0 "$(cat "$work/daemon.pid" 2> /dev/null || echo 0x)" 2> /dev/null || break
    sleep 0.5
  done
  rm -f "$work/daemon.pid" "$work/network.pid"
}

debian_trees() {
  local mirror
  # The mirror that apt uses on this machine; without one mmdebstrap takes its default.
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 2> /dev/null \
    | awk '$1 == "Debian" && $2 == "main" && $3 !~ /-/ {print $4; exit}')
  if ! command -v mmdebstrap slirp4netns > /dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap slirp4netns > /dev/null
  fi
  local first=
  if [ ! -e host.ready ]; then
    { rm -rf host && mmdebstrap --quiet --variant=minbase --components=main \
      --include=docker.io,docker-cli,docker-buildx,docker-compose,iptables,ca-certificates,iproute2 \
      trixie host $mirror && touch host.ready; } > host.log 2>&1 &
    first=$!
  fi
  local packages=ca-certificates,python3,python3-dev,python3-pip,python3-venv,python-is-python3,postgresql-15,redis-server
  if [ "$(cat base.ready 2> /dev/null)" != $packages ]; then
    { rm -rf base base.imported && mmdebstrap --quiet --variant=minbase --components=main --include=$packages \
      bookworm base $mirror && echo $packages > base.ready; } > base.log 2>&1 || { tail -5 base.log; return 1; }
  fi
  if [ -n "$first" ]; then wait "$first" || { tail -5 host.log; return 1; }; fi
  # Certificates of this machine, also where it trusts a proxy of its own.
  cp /etc/ssl/certs/ca-certificates.crt host/etc/ssl/certs/
  cp /etc/ssl/certs/ca-certificates.crt base/etc/ssl/certs/
}

local_torch() { # a folder of wheels that pip is configured for may have the CPU build: then nothing downloads CUDA
  local folder wheel
  mkdir -p base/opt/wheels
  for folder in $(python3 -m pip config list 2> /dev/null | sed -n "s/^.*find-links='\(.*\)'$/\1/p" | sort -u); do
    for wheel in "$folder"/torch-*-cp311-*.whl; do
      if [ -f "$wheel" ]; then cp -n "$wheel" base/opt/wheels/; fi
    done
  done
  printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\nbreak-system-packages = true\nfind-links = /opt/wheels\n' \
    > base/etc/pip.conf
  ls base/opt/wheels/torch-*.whl > /dev/null 2>&1
}

start_daemon() {
  stop_own_docker
  cat > enter.sh <<'ENTER'
set -eu
root=$1 work=$2
mkdir -p "$root/work" "$root/old" "$root/var/lib/docker"
mount --make-rprivate /
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$work" "$root/work"
echo nameserver 10.0.2.3 > "$root/etc/resolv.conf" # slirp4netns answers there
cd "$root"
pivot_root . old
umount -l /old
ip link set lo up
exec dockerd --data-root /var/lib/docker --mtu 1400 > /var/log/dockerd.log 2>&1
ENTER
  setsid unshare --mount --net sh enter.sh "$work/host" "$work" > daemon.log 2>&1 &
  echo $! > daemon.pid
  sleep 1
  setsid slirp4netns --configure --mtu=1400 --disable-host-loopback "$(cat daemon.pid)" tap0 > network.log 2>&1 &
  echo $! > network.pid
  for _ in $(seq 120); do
    inside docker info > /dev/null 2>&1 && return 0
    sleep 0.5
  done
  cat daemon.log; tail -5 host/var/log/dockerd.log
  return 1
}

# The images that stand in for those of docker-compose.yml have no digest of a registry.
unpinned() {
  printf '%s\n' PYTHON_IMAGE=python:3.12-slim NODE_IMAGE=node:24-slim POSTGRES_IMAGE=postgres:18 REDIS_IMAGE=redis:8
}

base_images() {
  local environment=(
    -c 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' -c 'ENV LANG=C.UTF-8'
    -c 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'
  )
  if [ ! -e base.imported ] || ! inside docker image inspect python:3.12-slim > /dev/null 2>&1; then
    tar -C base -c . | inside docker import "${environment[@]}" - python:3.12-slim > /dev/null
    touch base.imported
  fi
  rm -rf stand_ins && cp -r "$here/stand_ins" stand_ins
  inside docker build --quiet -t node:24-slim /work/stand_ins/node > /dev/null
  inside docker build --quiet -t postgres:18 /work/stand_ins/postgres > /dev/null
  inside docker build --quiet -t redis:8 /work/stand_ins/redis > /dev/null
}
