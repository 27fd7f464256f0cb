// Package logql holds tests of the whole of LogQL: a table of queries that is evaluated by the packages below it and by
// a slow evaluator of its own. Package syntax parses queries, pipeline processes records by the stages of a log query,
// engine evaluates queries over a source of records, storage is that source over the stores, and labels are the label
// sets of all of them.
package logql
