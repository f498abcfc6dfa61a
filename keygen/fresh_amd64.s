#include "textflag.h"

// func cpuid1ECX() uint32
TEXT ·cpuid1ECX(SB), NOSPLIT, $0-4
	MOVL $1, AX
	XORL CX, CX
	CPUID
	MOVL CX, ret+0(FP)
	RET

// func cpuRandom() (value uint64, ok bool)
TEXT ·cpuRandom(SB), NOSPLIT, $0-9
	MOVL $10, CX

again:
	RDRANDQ AX
	JCS     done
	DECL    CX
	JNZ     again
	XORL    AX, AX

done:
	MOVQ  AX, value+0(FP)
	TESTL CX, CX
	SETNE ok+8(FP)
	RET
