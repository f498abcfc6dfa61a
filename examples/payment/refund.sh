#!/bin/sh
# refund.sh ORDER FILE: refunds the payment that pay.sh ORDER FILE made, once.
set -eu
payment=$(opmint mint --for "charge $1" --payload "$2")
exec curl --silent --show-error --fail-with-body --header "Idempotency-Key: $(opmint child "$payment" refund)" \
	--data "payment=$payment" "$RECEIVER/refunds"
