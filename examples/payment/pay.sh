#!/bin/sh
# pay.sh ORDER FILE: makes the payment of ORDER that FILE describes, once, however
# often it is run. Exit code 3: ORDER was to be paid with another FILE.
set -eu
name=$(opmint mint --for "charge $1" --payload "$2")
exec curl --silent --show-error --fail-with-body --header "Idempotency-Key: $name" \
	--data-binary "@$2" "$RECEIVER/charges"
