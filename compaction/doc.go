// Package compaction merges the segments of one service, UTC day and class into
// outputs, without a server, a lease or a manifest: the name is the lock. docs/compaction.md
// describes the protocol and why each step is safe.
//
// Pure functions over a listing and the outputs' lists of inputs decide what to do: [catalog.Contain] decides which segments
// readers ignore, [Chain.Plan] which outputs to make. [Run] merges, verifies, creates each output under a name that must be free,
// and removes its inputs once the output has been read back from storage. Several compactions may run at once, and concurrently
// with shippers, readers and retention. Each may be killed at any time.
package compaction
