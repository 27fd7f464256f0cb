package listen

// MaxGarbage is maxGarbage.
const MaxGarbage = maxGarbage

// Uncollected is the number of bytes that were reserved and are not collected.
func (b *Budget) Uncollected() int64 { return b.taken.Load() - b.collected.Load() }
