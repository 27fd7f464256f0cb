package tap

import "time"

// CPUTime is the CPU time that this process has used.
func CPUTime() time.Duration { return cpuTime() }
