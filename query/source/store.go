// Package source has the types that the layers of a query share: stores, segments, the metering of requests, and the report.
//
// Every request goes through a [Meter], which sums up bytes and cost and ends the query with [ErrBudget] before a limit is exceeded.
package source

import (
	"context"
	"time"

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
	// Archive makes the segments of a store whose blobs other programs wrote; nil for one that has segments.
	Archive Archive
	// Problems are known problems of the store. They are in the report of every query.
	Problems []*Problem
}

// Archive makes segments of the blobs that other programs wrote. Safe for concurrent use.
type Archive interface {
	// Segments returns segments with the records of a range, which it reads from blobs.
	Segments(ctx context.Context, blobs store.BlobReader, from, to time.Time) (Converted, error)
	// Services returns segments with the services that are known without a range.
	Services(ctx context.Context, blobs store.BlobReader) (Converted, error)
}

// Converted are segments that were made of other blobs.
type Converted struct {
	Blobs  store.BlobReader
	Tables store.TableReader
	// Problems are blobs that could not be read, or not to their ends. Notes are what a user should know.
	Problems []*Problem
	Notes    []string
}

// Segments returns a store of segments with the records of a range: the store itself, unless it has an archive. r, which may be nil,
// records what could not be read.
func (s Store) Segments(ctx context.Context, from, to time.Time, r *Recorder) (Store, error) {
	if s.Archive == nil {
		return s, nil
	}
	made, err := s.Archive.Segments(ctx, s.Blobs, from, to)
	return s.converted(made, r), err
}

// Known is Segments without a range, for the services of a store.
func (s Store) Known(ctx context.Context) (Store, error) {
	if s.Archive == nil {
		return s, nil
	}
	made, err := s.Archive.Services(ctx, s.Blobs)
	return s.converted(made, nil), err
}

// converted returns the store of segments that were made of the blobs of s. They are local.
func (s Store) converted(made Converted, r *Recorder) Store {
	if r != nil {
		for _, p := range made.Problems {
			r.Problem(p)
		}
		for _, note := range made.Notes {
			r.Note("%s", note)
		}
	}
	s.Blobs, s.Compacted, s.Tables, s.Cache, s.Free, s.Archive = made.Blobs, nil, made.Tables, nil, true, nil
	return s
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
