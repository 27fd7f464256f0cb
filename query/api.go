package query

import (
	"logstow/query/explain"
	"logstow/query/fieldstats"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/sorting"
	"logstow/query/source"
	"logstow/query/stats"
	"logstow/store"
)

// Types of the layers below that are part of the API of a [Query].
type (
	// Selection is the conditions of a query.
	Selection = match.Selection
	// Hint is a text that all wanted messages contain.
	Hint = match.Hint
	// Store is a place to read from.
	Store = source.Store
	// Segment is a segment that a plan found.
	Segment = source.Segment
	// Match is a record found.
	Match = merge.Match
	// ContextLines are the numbers of records to emit before and after a match.
	ContextLines = merge.ContextLines
	// Computation is what [Query.Stats] computes.
	Computation = stats.Computation
	// Table is the result of a [Computation].
	Table = stats.Table
	// SortOrder is the order of [Query.Sort].
	SortOrder = sorting.Order
	// FieldStats are the fields of some records.
	FieldStats = fieldstats.Stats
	// FieldOptions select what to compute of fields.
	FieldOptions = fieldstats.Options
	// Problem is something that could not be read.
	Problem = source.Problem
	// Reason is a likely reason why a query found nothing.
	Reason = explain.Reason
	// Report counts what a query did.
	Report = source.Report
	// Progress is the progress of a query.
	Progress = source.Progress
)

// MaxContextLines is the maximum of [ContextLines].
const MaxContextLines = merge.MaxContextLines

// Errors of queries.
var (
	// ErrSelection is wrapped by the errors of [New]: the selection is invalid.
	ErrSelection = match.ErrSelection
	// ErrBudget ends a query that would read or cost more than its options allow.
	ErrBudget = source.ErrBudget
)

// ReadOnly returns the reading half of a store.
func ReadOnly(s store.Store) Store { return source.ReadOnly(s) }
