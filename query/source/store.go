// Package source has the types that the layers of a query share: stores, segments, the metering of requests, and the report.
//
// Every request goes through a [Meter], which sums up bytes and cost and ends the query with [ErrBudget] before a limit is exceeded.
package source

import (
	"logstow/catalog"
	"logstow/query/cache"
	"logstow/store"
)

// Store is a place to read from.
type Store struct {
	// Name is the store as the user named it.
	Name string
	// Container distinguishes the store's segments in the index from those of other containers.
	Container string
	// Blobs is the raw container, Compacted the one with outputs of compaction; nil if there are none.
	Blobs, Compacted store.BlobReader
	Tables           store.TableReader
	// Cache caches parts of segments; nil disables it. It is for stores that are slow or billed.
	Cache *cache.Cache
	// Free is set if requests cost nothing, as in a directory.
	Free bool
	// Location is where other programs find the blobs; zero if unknown.
	Location store.Location
	// Problems are known problems of the store. They are in the report of every query.
	Problems []*Problem
}

// ReadOnly returns the reading half of a store.
func ReadOnly(s store.Store) Store {
	reading := Store{Name: s.String(), Container: s.Container(), Blobs: s.Blobs(), Compacted: s.Compacted(), Tables: s.Tables()}
	if located, ok := s.(store.Located); ok {
		reading.Location = located.Location()
	}
	return reading
}

// compacted returns the compacted container, an absent one if there is none.
func (s *Store) compacted() store.BlobReader {
	if s.Compacted == nil {
		return store.NoBlobs(s.Name)
	}
	return s.Compacted
}

// Catalog returns the catalog of the store.
func (s *Store) Catalog() *catalog.Catalog {
	return &catalog.Catalog{Blobs: s.Blobs, Compacted: s.compacted(), Retry: policy(), Sequential: s.Free}
}
