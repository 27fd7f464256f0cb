// Package compaction merges the small segments of one service, hour and class into
// outputs, without a server, a lease or a manifest: the name is the lock. docs/compaction.md
// describes the protocol and why each step is safe.
//
// What is to be done is decided by pure functions over a listing and the outputs' lists of
// inputs: [containment.Contain] decides which segments readers leave out, [Hour.Plan] which outputs are to be
// made. [Run] does it: it merges, checks, creates each output under a name that must be free, and
// removes inputs once the output was read back from storage. Several may run at once, beside
// shippers, readers and retention; each may be killed at any time.
package compaction
