// Package source holds what the layers of a query share: the stores it reads, the
// segments they hold, what reading costs, and the report of what was done.
//
// Every request goes through a [Meter], which adds up what it costs and ends the query
// with [ErrBudget] before a limit of bytes or cost is passed.
package source

import (
	"logstow/query/cache"
	"logstow/store"
)

// Store is a place to read from.
type Store struct {
	// Name is the store as the user named it.
	Name string
	// Container distinguishes the store's segments in the index from those of others.
	Container string
	Blobs     store.BlobReader
	Tables    store.TableReader
	// Cache keeps the parts of segments that were read; nil disables it. It is for stores
	// that cost time and money to read.
	Cache *cache.Cache
	// Free is set if requests cost nothing: the store is a directory.
	Free bool
	// Problems are what is known to be missing in it: they are in the report of every query.
	Problems []*Problem
}

// ReadOnly is the reading half of a store.
func ReadOnly(s store.Store) Store {
	return Store{Name: s.String(), Container: s.Container(), Blobs: s.Blobs(), Tables: s.Tables()}
}
