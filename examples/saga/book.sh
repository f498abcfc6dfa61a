#!/bin/sh
# book.sh TRIP: books a flight, a hotel and a car, or nothing of it. Exit codes: 0 all
# is booked, 1 nothing is, 75 not known yet: run it again.
set -eu
trip=$(opmint mint --for "book $1")

# send NAME METHOD PATH: 0 if it was done, 1 if it was refused, so that nothing was.
send() {
	status=$(curl --silent --output /dev/null --write-out '%{http_code}' --request "$2" \
		--header "Idempotency-Key: $1" "$RECEIVER/$3") || exit 75
	case $status in
	2??) return 0 ;;
	409) return 1 ;;
	*) exit 75 ;;
	esac
}

booked=
for step in flight hotel car; do
	if send "$(opmint child "$trip" "$step")" POST "$step"; then
		booked="$step $booked"
		continue
	fi
	# A later run gets the same answers up to here, and goes on where this one ended.
	for done in $booked; do
		send "$(opmint child "$(opmint child "$trip" "$done")" undo)" DELETE "$done" || exit 75
	done
	exit 1
done
