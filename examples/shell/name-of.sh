#!/bin/sh
# name-of.sh FILE: the name of the operation that FILE stands for. It is on disk
# before it is used, so that a script that is started again sends the same name.
set -eu
if [ ! -s "$1" ]; then
	trap 'rm -f "$1.$$"' EXIT
	opmint mint > "$1.$$"
	ln "$1.$$" "$1" 2>/dev/null || true # somebody else was first
fi
sync "$1" "$(dirname "$1")"
cat "$1"
