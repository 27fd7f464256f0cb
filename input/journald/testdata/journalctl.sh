#!/bin/sh
# Stands for journalctl in tests. Its directory determines what it does: each run N writes
# its arguments to args.N and prints last (with --lines=1) or out.N; it fails
# with the text of fail.N, and with --follow goes on with what comes from the pipe.
dir=$(dirname "$0")
n=1
while ! mkdir "$dir/run.$n" 2>/dev/null; do n=$((n + 1)); done
for a; do echo "$a"; done >"$dir/args.$n.new"
mv "$dir/args.$n.new" "$dir/args.$n"
if [ -f "$dir/out.$n" ]; then cat "$dir/out.$n"; fi
if [ -f "$dir/fail.$n" ]; then
	cat "$dir/fail.$n" >&2
	exit 1
fi
for a; do
	if [ "$a" = --follow ] && [ -p "$dir/pipe" ]; then exec cat "$dir/pipe"; fi
done
