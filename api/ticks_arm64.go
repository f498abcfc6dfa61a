package api

// ticksApart is how many ticks there are between two looks at the clocks: at most
// 8 milliseconds at the 1 MHz or more that the counter has.
const ticksApart = 1 << 13

// ticks reads the virtual count register (Arm ARM, CNTVCT_EL0).
func ticks() uint64
