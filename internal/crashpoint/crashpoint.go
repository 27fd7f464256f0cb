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
package crashpoint

// Env is the environment variable that a build with the tag crashpoints reads:
// the name of a point, or name:n for its nth passing, from 1.
const Env = "LOGSTOW_CRASH_AT"
