#!/bin/sh
# The main job on the embedded store: logs of three services go in, answers come out.
# Run by "make demo" from the top folder; needs the two binaries in bin/, and Go for the logs.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
kept="$PWD/demo-store"
export LOGSTOW_STORE="$dir/store" XDG_STATE_HOME="$dir/state"
PATH="$PWD/bin:$PATH"

# Headings are bold on a terminal.
bold='' plain=''
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { say "\$ $*"; "$@"; }

say "# half an hour of logs: a web service's JSON lines, a data node's text"
go run ./internal/test/loggen/cmd/loggen -size 20MB -start 2026-11-20T15:00:00Z >"$dir/api.log"
go run ./internal/test/loggen/cmd/loggen -kind hdfs -size 10MB -start 2026-11-20T15:00:00Z >"$dir/datanode.log"
ls -l "$dir" | awk 'NR > 1 { print $5, $9 }'

show shipper run --once --service api "$dir/api.log"
say "\$ shipper run --once --service datanode - < datanode.log"
shipper run --once --service datanode - <"$dir/datanode.log"

show logq services
show logq segments

say "# errors of one service between 15:04 and 15:06: how many, and the first three"
show logq query -s api --from 2026-11-20T15:04:00Z --to 2026-11-20T15:06:00Z -l error+ --count
show logq query -s api --from 2026-11-20T15:04:00Z --to 2026-11-20T15:06:00Z -l error+ -n 3 -o text

say "# one identifier in all of it, and what finding it took"
show logq query NEEDLE-7f3a9c51 --from 2026-11-20 --to 2026-11-21 --utc -o raw --explain

say "# the lines come back exactly as logged"
logq query -s api --from 2026-11-20 --to 2026-11-21 --utc -o raw | cmp - "$dir/api.log" && echo "api.log: same bytes"
logq query -s datanode --from 2026-11-20 --to 2026-11-21 --utc -o raw | cmp - "$dir/datanode.log" && echo "datanode.log: same bytes"

say "# twenty instances leave twenty small segments; compaction merges them, and the answer stays"
for i in $(seq 20); do
	go run ./internal/test/loggen/cmd/loggen -seed "$i" -size 200kB -start "2026-11-20T15:0$((i % 10)):00Z" |
		shipper run --once --service web --instance "web-$i" - 2>/dev/null
done
count() { echo "$(logq segments -s web --from 2026-11-20 --to 2026-11-21 --paths 2>/dev/null | wc -l) segments, $(logq query -s web --from 2026-11-20 --to 2026-11-21 --utc -l error+ --count 2>/dev/null) errors"; }
count
say "\$ shipper compact --from 2026-11-20 --to 2026-11-21 --max-age 3650d --grace 0s"
shipper compact --from 2026-11-20 --to 2026-11-21 --max-age 3650d --grace 0s
count

say "# no lock-in: a segment is zstd of plain text, under its name"
(cd "$LOGSTOW_STORE" && find . -name '*.log' | sort | head -3 && du -sh .)

say "# the page: an hour of logs that ends now"
rm -rf "$kept"
export LOGSTOW_STORE="$kept"
go run ./internal/test/loggen/cmd/loggen -size 5MB -span 1h | shipper run --once --service api - 2>/dev/null
go run ./internal/test/loggen/cmd/loggen -seed 2 -size 1MB -span 1h | shipper run --once --service checkout - 2>/dev/null
go run ./internal/test/loggen/cmd/loggen -kind hdfs -size 2MB -span 1h | shipper run --once --service datanode - 2>/dev/null
echo "open it with this command, then http://127.0.0.1:3100 in a browser:"
say "bin/logq serve --store ./demo-store"
