package delta_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/export/delta"
	"logstow/internal/retry"
	"logstow/store"
)

// memory is a container in memory with a clock of its own. Blobs, for what it does not have, is nil.
type memory struct {
	store.Blobs
	mu    sync.Mutex
	now   time.Time
	blobs map[string]stored
	reads map[string]int
	// lost is the number of creates whose responses are lost.
	lost int
}

type stored struct {
	body    []byte
	created time.Time
}

func newMemory() *memory {
	return &memory{now: start(), blobs: make(map[string]stored), reads: make(map[string]int)}
}

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func (m *memory) Read(_ context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads[ref.Name]++
	b, ok := m.blobs[ref.Name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", store.ErrNotFound, ref.Name)
	}
	return slices.Clone(b.body[off : off+n]), nil
}

func (m *memory) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		m.mu.Lock()
		var all []store.Blob
		for _, name := range slices.Sorted(maps.Keys(m.blobs)) {
			if strings.HasPrefix(name, prefix) {
				all = append(all, store.Blob{Name: name, Size: int64(len(m.blobs[name].body)), Created: m.blobs[name].created})
			}
		}
		m.mu.Unlock()
		for page := range slices.Chunk(all, 5000) {
			if !yield(page, nil) {
				return
			}
		}
	}
}

func (m *memory) Create(_ context.Context, name string, body []byte, _ store.CreateOptions) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.blobs[name]; ok {
		return "", store.ErrExists
	}
	m.blobs[name] = stored{slices.Clone(body), m.now}
	if m.lost > 0 {
		m.lost--
		return "", fmt.Errorf("%w: no response", store.ErrUnavailable)
	}
	return "", nil
}

func (m *memory) Delete(_ context.Context, refs []store.BlobRef) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ref := range refs {
		delete(m.blobs, ref.Name)
	}
	return nil
}

// count returns the number of blobs whose names end in a suffix, and the size of the largest.
func (m *memory) count(suffix string) (n, largest int) {
	for name, b := range m.blobs {
		if strings.HasSuffix(name, suffix) {
			n++
			largest = max(largest, len(b.body))
		}
	}
	return n, largest
}

func tableOf(b store.Blobs) *delta.Table {
	return &delta.Table{Blobs: b, Retry: retry.Policy{Backoff: retry.Backoff{Min: time.Millisecond, Max: time.Millisecond}, MaxAttempts: 3}}
}

func ptr[T any](v T) *T { return &v }

// created are the actions that create a table with properties.
func created(t testing.TB, properties map[string]string) []delta.Action {
	t.Helper()
	schema, err := delta.EncodeSchema([]delta.Field{delta.Primitive("date", "date", false), delta.Primitive("time", "timestamp", false), delta.StringMap("attributes")})
	if err != nil {
		t.Fatal(err)
	}
	return []delta.Action{
		{Protocol: &delta.Protocol{Reader: 1, Writer: 2}},
		{Metadata: &delta.Metadata{
			ID: "id", Name: ptr("logs"), Format: delta.Format{Provider: "parquet", Options: map[string]string{}}, Schema: schema,
			PartitionBy: []string{"date"}, Configuration: properties, Created: ptr(start().UnixMilli()),
		}},
	}
}

func fileOf(date, name string) delta.Add {
	return delta.Add{
		Path: "date=" + date + "/" + name, PartitionValues: map[string]string{"date": date}, Size: 10, Modified: 1, DataChange: true,
		Stats: ptr(`{"numRecords":1}`),
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isConflict reports whether an error is that of a version that exists.
func isConflict(err error) bool { return errors.Is(err, delta.ErrConflict) }
