package vtpmdetect

// executeCPUID executes CPUID with leaf in EAX and subleaf in ECX.
func executeCPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// hardwareCPUID asks the CPU that this program runs on.
var hardwareCPUID CPUID = executeCPUID
