#include "textflag.h"

// func cpuRandom() (value uint64, ok bool)
TEXT ·cpuRandom(SB), NOSPLIT, $0-9
	MOVD $10, R1

again:
	// MRS R0, RNDR (S3_3_C2_C4_0), which the assembler does not know. It clears
	// the flags, or sets Z and R0 to 0 when it has no value (Arm ARM, RNDR).
	WORD $0xd53b2400
	BNE  done
	SUB  $1, R1
	CBNZ R1, again

done:
	MOVD R0, value+0(FP)
	CMP  $0, R1
	CSET NE, R2
	MOVB R2, ok+8(FP)
	RET
