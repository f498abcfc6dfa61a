package vtpmdetect

// executeCPUID executes CPUID with leaf in EAX and subleaf in ECX.
func executeCPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

var hardwareCPUID CPUID = executeCPUID
