#!/bin/sh
# mint.sh N: N names from opmint, one a line.
exec curl --silent --show-error --fail-with-body --unix-socket "${OPMINT_SOCKET:-/run/opmint/opmint.sock}" \
	--request POST --header 'Accept: text/plain' "http://opmint/v1/names?count=$1"
