package source_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/hint"
	"logstow/query/source"
	"logstow/segment"
	"logstow/store"
)

// A segment that is damaged or truncated has a hint, one that cannot be read keeps its own.
func TestHintForDamage(t *testing.T) {
	t.Parallel()
	s := &source.Segment{Name: blobnaming.Name{Service: "web", Bucket: time.Unix(0, 0), Number: 1}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&segment.CorruptError{Part: "block 1"}, "shipper verify --full"},
		{fmt.Errorf("read segment footer: %w", &store.Error{Op: "read", Class: store.ErrRange}), "shipper verify --full"},
		{fmt.Errorf("read lines: %w", io.ErrUnexpectedEOF), "shipper verify --full"},
		{segment.ErrNoFooter, "shipper verify --full"},
		{&store.Error{Op: "read", Class: store.ErrAccessDenied, Hint: "grant the role"}, "grant the role"},
		{segment.ErrUnsupported, ""},
	} {
		r := source.NewRecorder(1)
		r.SegmentProblem(s, c.err)
		if got := hint.Of(r.Report().Problems[0]); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v: hint %q, want %q", c.err, got, c.want)
		}
	}
}

// Problems of segments name the store if the query reads several.
func TestSegmentProblem(t *testing.T) {
	t.Parallel()
	hour := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := &source.Segment{Store: "north", Name: blobnaming.Name{Service: "web", Bucket: hour, Number: 1}}
	for stores, want := range map[int]string{1: s.String() + ": damaged", 2: "north: " + s.String() + ": damaged"} {
		r := source.NewRecorder(stores)
		r.SegmentProblem(s, errors.New("damaged"))
		if got := r.Report().Problems; len(got) != 1 || got[0].Error() != want {
			t.Errorf("of %d stores: %v, want %s", stores, got, want)
		}
	}
}
