package query

import (
	"context"

	"logstow/query/explain"
	"logstow/query/fieldstats"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/plan"
	"logstow/query/source"
	"logstow/query/stats"
	"logstow/store"
)

// The types of the layers that callers of a [Query] meet.
type (
	// Selection is the conditions of a query.
	Selection = match.Selection
	// Store is a place to read from.
	Store = source.Store
	// Segment is a segment that a plan found.
	Segment = source.Segment
	// Match is a record found.
	Match = merge.Match
	// ContextLines are the numbers of records to emit before and after a match.
	ContextLines = merge.ContextLines
	// Stats are numbers of records by some of their properties.
	Stats = stats.Stats
	// Row is a group of records in [Stats].
	Row = stats.Row
	// FieldStats are the fields of some records.
	FieldStats = fieldstats.Stats
	// FieldOptions say what to find out of fields.
	FieldOptions = fieldstats.Options
	// Reason is a likely reason why a query found nothing.
	Reason = explain.Reason
	// Problem is something that could not be read.
	Problem = source.Problem
	// Report counts what a query did.
	Report = source.Report
	// Progress is how far a query has come.
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
	// ErrMemory ends [Query.Stats] if its groups would take more memory than the options allow.
	ErrMemory = stats.ErrMemory
)

// ReadOnly is the reading half of a store.
func ReadOnly(s store.Store) Store { return source.ReadOnly(s) }

// Services are the services of a store, in order of name.
func Services(ctx context.Context, s Store) ([]string, error) { return plan.Services(ctx, s) }

// StoreEmpty is the reason if no store has a service.
func StoreEmpty() Reason { return explain.StoreEmpty() }

// Dollars formats an estimated cost for people.
func Dollars(amount float64) string { return source.Dollars(amount) }
