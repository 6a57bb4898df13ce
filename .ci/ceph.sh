#!/usr/bin/env bash
# Ceph's S3 gateway from Debian packages, in memory and on loopback, for the export tests.
#   eval "$(.ci/ceph.sh start <empty folder>)"   installs what is missing, starts it, sets CEPH_ENDPOINT and its keys
#   .ci/ceph.sh stop <folder>
# `start` calls `.ci/ceph.sh try <folder> <port>`, on other ports again when Ceph ends or does not answer.
set -euo pipefail
command=$1 dir=$2

if [ "$command" = stop ]; then
  cat "$dir"/*/pids 2>/dev/null | xargs -r kill -9 2>/dev/null || true
  exit 0
fi

# A number of which the port and the two after it are free.
draw_port() {
  local port
  for _ in $(seq 100); do
    port=$((20000 + RANDOM % 12000))
    if is_free "$port" && is_free $((port + 1)) && is_free $((port + 2)); then
      echo "$port"
      return 0
    fi
  done
  echo "No three free ports between 20000 and 32000" >&2
  return 1
}
is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

if [ "$command" = start ]; then
  if ! command -v radosgw >/dev/null || ! command -v ceph-osd >/dev/null; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root=sudo
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq >&2
    $as_root apt-get install -y -qq --no-install-recommends radosgw ceph-mon ceph-osd ceph-common >&2
  fi
  mkdir -p "$dir"
  [ -z "$(ls -A "$dir")" ] || { echo "$dir is not empty: Ceph starts from an empty folder" >&2; exit 1; }
  for attempt in 1 2 3; do
    port=$(draw_port)
    "$0" try "$dir/$attempt" "$port" && exit 0
    echo "Ceph did not start on port $port, attempt $attempt of 3. The end of its log:" >&2
    tail -n 40 "$dir/$attempt/daemons.log" >&2 || true
    "$0" stop "$dir"
  done
  exit 1
fi

port=$3
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
fsid=$(cat /proc/sys/kernel/random/uuid)
osd=$(cat /proc/sys/kernel/random/uuid)
access=weir-tests-key secret=weir-tests-secret
monitors="[v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]"

cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = $monitors
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
osd objectstore = memstore
memstore device bytes = 2147483648
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd crush update on start = false
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
mon data avail warn = 2
mon data avail crit = 1
osd heartbeat grace = 120
mon data = $dir/mon
osd data = $dir/osd
rgw data = $dir/rgw
run dir = $dir
admin socket = $dir/\$name.asok
log file = $dir/\$name.log
[client.rgw]
auth client required = none
rgw frontends = beast endpoint=127.0.0.1:$port
rgw dns name = localhost
CONF
mkdir -p "$dir/osd" "$dir/rgw"

# A daemon in the foreground of its own session, its id noted for stop.
run() {
  setsid "$@" </dev/null >>"$dir/daemons.log" 2>&1 &
  daemon=$!
  echo "$daemon" >>"$dir/pids"
}
ceph() { command timeout 20 ceph -c "$dir/ceph.conf" --connect-timeout 5 "$@" >>"$dir/daemons.log" 2>&1; }
# Repeats a command until it succeeds, as long as the newest daemon runs.
until_ok() {
  for _ in $(seq 240); do
    "$@" && return 0
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.25
  done
  echo "Ceph does not answer: $*" >&2
  exit 1
}
trap 'echo "Line $LINENO of $0 failed: $BASH_COMMAND" >&2' ERR

as=(--setuser "$(id -un)" --setgroup "$(id -gn)")
monmaptool --create --fsid "$fsid" --addv a "$monitors" "$dir/monmap" >>"$dir/daemons.log" 2>&1
ceph-mon -c "$dir/ceph.conf" --mkfs -i a --monmap "$dir/monmap" "${as[@]}" >>"$dir/daemons.log" 2>&1
run ceph-mon -c "$dir/ceph.conf" -i a -f "${as[@]}"
until_ok ceph status
# The monitor may refuse it in its first moments.
until_ok ceph osd new "$osd" 0
# Before the daemon of storage starts: while it starts, the monitor refuses this at times.
until_ok ceph osd crush add osd.0 1.0 root=default
ceph-osd -c "$dir/ceph.conf" -i 0 --mkfs --osd-uuid "$osd" "${as[@]}" >>"$dir/daemons.log" 2>&1
run ceph-osd -c "$dir/ceph.conf" -i 0 -f "${as[@]}"
up() { command timeout 20 ceph -c "$dir/ceph.conf" osd stat 2>/dev/null | grep -q "1 up"; }
until_ok up
run radosgw -c "$dir/ceph.conf" -n client.rgw -f "${as[@]}"
# Another server on the port would not answer with this header.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && grep -qi "x-amz-request-id" <&3) 2>/dev/null; }
until_ok answers
radosgw-admin -c "$dir/ceph.conf" -n client.rgw user create --uid weir --display-name weir \
  --access-key "$access" --secret "$secret" >>"$dir/daemons.log" 2>&1

echo "export CEPH_ENDPOINT=http://127.0.0.1:$port CEPH_ACCESS_KEY=$access CEPH_SECRET_KEY=$secret"
