package ledger

// Now returns the ledger's time in milliseconds.
func (k *Keeper) Now() int64 { return k.time.now(0) }

// SetMinLog lets checkpoints be made of logs of that many bytes.
func (k *Keeper) SetMinLog(bytes uint64) { k.minLog = bytes }

// Slack is how much later than at its horizon a record is purged, in milliseconds.
const Slack = slack

// SystemClock is the machine's.
var SystemClock Clock = systemClock{}
