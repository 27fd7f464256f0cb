package descriptors

// noLimit stands for the handles of a process, of which Windows allows 16 million: only memory limits them.
const noLimit = 1 << 14

// Limit returns the number of files that the process may have open.
func Limit() int { return noLimit }
