// Package crashpoint names the points at which the crash test kills the process: between a write
// and its sync, before and after a rename, a create, a removal. In an ordinary build [Here] is
// empty and costs nothing. Built with
//
//	go build -tags crashpoints
//
// a process whose environment has LOGSTOW_CRASH_AT=NAME or NAME:N kills itself
// with SIGKILL at the first (the Nth) passing of the point NAME.
//
// Names are string literals (the crash test finds them in the source), unique
// in the program, lower case, with dots: "wal.append.before-sync".
//
// After a kill at a point, the next start of shipper run
//
//   - wal.append.before-write: reads the records again
//   - wal.append.after-write, wal.sync.before, wal.sync.after: replays the entry with its positions; if a machine crash lost it, reads
//     the file again
//   - seal.before-write, seal.before-sync, seal.before-rename: removes an unfinished file, and replays the records into a new batch
//   - seal.after-rename, seal.after-sync-dir: sends the batch and skips its records in the log; if a machine crash lost it, replays them
//   - state.before-write: takes a new name
//   - state.after-sync, upload.before-create: creates the blob under the recorded name
//   - upload.after-create, upload.before-done: finds the name taken by this batch: it is stored
//   - upload.before-send, upload.after-send: sends the segment to the same relay with the same number, which appends it once
//   - entity.before-write, entity.before-sync: writes the entity to the buffer, and then to the index
//   - entity.after-sync, sealed.before-remove, sealed.after-remove, upload.after-done, upload.before-index, upload.after-index,
//     entity.before-remove: writes the entity to the index, perhaps a second time, which changes nothing
//   - entity.after-remove: has nothing left to do
//   - quarantine.before-rename: sends the batch; if rejected again, quarantines it
//   - wal.roll.before-sync, wal.roll.before-rename, wal.roll.after-rename: removes an unfinished next log file
//   - wal.drop.before-remove, wal.drop.after-remove: removes the log file, whose records are all in sealed batches
//
// What shipper compact leaves, from which the next run continues:
//
//   - compact.merged, compact.built, compact.before-create: nothing, since the temporary file has no name
//   - compact.after-create, compact.read-back: the output, which hides its inputs; a later run removes them
//   - compact.indexed: the same, and entities of outputs, which are written again
//   - compact.before-delete: inputs without entities, which are read from the output or hidden; the next run removes them
//   - compact.deleted: some inputs are removed, the others as before
//
// What shipper export leaves:
//
//   - export.before-file: nothing is left, since the temporary file has no name
//   - export.after-file, export.before-commit: data files that are not in the table, deleted 7 days later
//   - export.after-commit, export.before-checkpoint: the commit; a later one writes the checkpoint
//   - export.after-checkpoint: the checkpoint, and _last_checkpoint of an earlier one
package crashpoint

// Env is the environment variable that a build with the tag crashpoints reads:
// the name of a point, or name:n for its nth passing, from 1.
const Env = "LOGSTOW_CRASH_AT"
