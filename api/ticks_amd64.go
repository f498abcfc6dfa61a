package api

// ticksApart is how many ticks there are between two looks at the clocks: a
// quarter of a millisecond at 1 GHz, less at the higher rates that are usual.
const ticksApart = 1 << 18

// ticks reads the CPU's time-stamp counter (Intel SDM volume 2B, RDTSC).
func ticks() uint64
