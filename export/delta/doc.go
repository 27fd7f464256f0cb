// Package delta keeps the transaction log of a Delta Lake table: reader version 1 and writer version 2 of the protocol in
// https://github.com/delta-io/delta/blob/master/PROTOCOL.md. It knows nothing of the rows: others write the data files, and this
// package adds them to the table and removes them from it.
//
// A commit creates the next entry of the log, _delta_log/00000000000000000042.json, on condition that its name is free. Of several writers
// one succeeds, the others get [ErrConflict]: they load the log again, and decide whether their commit is still right. Entries are lines of
// JSON, each an action. A checkpoint has the result of all entries up to one, so that readers need not read them and old ones can go.
package delta
