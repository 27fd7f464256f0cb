package upload_test

import (
	"fmt"
	"testing"

	"logstow/buffer"
	"logstow/record"
	"logstow/upload"
)

// Batches of services beyond MaxServices are counted together, none twice.
func TestServicesPastMax(t *testing.T) {
	t.Parallel()
	b, err := buffer.Open(t.Context(), buffer.Options{Instance: "pod-1", NoFilter: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	const more = 3
	for i := range upload.MaxServices + more {
		c := buffer.Chunk{Service: fmt.Sprintf("s%d", i), Read: start.UnixNano(), Records: []record.Record{{Time: start.UnixNano(), Message: []byte("x")}}}
		if _, err := b.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		b.Flush(t.Context())
	}
	b.Drain(t.Context())
	// It takes every segment and keeps none.
	taking := &faulty{
		Store:  openStore(t),
		create: func(int, string, func() (string, error)) (string, error) { return "etag", nil },
		upsert: func(int, string, func() error) error { return nil },
	}
	s := upload.New(upload.Options{Buffer: b, Store: taking, Workers: 1})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	services := s.Services()
	segments := 0
	for _, d := range services {
		segments += int(d.Segments)
	}
	if len(services) != upload.MaxServices+1 || services[""].Segments != more || segments != upload.MaxServices+more {
		t.Errorf("%d services, %d segments, %+v of further ones", len(services), segments, services[""])
	}
}
