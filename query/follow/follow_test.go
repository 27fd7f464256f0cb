package follow_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/internal/test/storetest"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/source"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
)

// A blob that claims the batch of a segment, and is read before that is stored, does not keep it from being read. It is read once.
func TestEarlierTwin(t *testing.T) {
	t.Parallel()
	hour := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	w := segment.NewWriter(&b, segment.Options{Service: "web", Instance: "i", BucketStart: hour.Unix(), BucketWidth: 3600})
	for i := range 3 {
		if err := w.Append(record.Record{Time: hour.UnixNano() + int64(i), Level: record.Info, Source: "a", Message: fmt.Append(nil, "line ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	honest, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	other := honest
	other.Levels = record.Counts{record.Fatal: 3}
	for name, c := range map[string]struct {
		twin []byte
		meta map[string]string
	}{
		"damaged":        {make([]byte, b.Len()), honest.Encode()},
		"block":          {append([]byte{b.Bytes()[0] + 1}, b.Bytes()[1:]...), honest.Encode()},
		"other metadata": {b.Bytes(), other.Encode()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := local.Open(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			storetest.Close(t, s)
			create := func(number int, body []byte, metadata map[string]string) {
				t.Helper()
				if _, err := s.Blobs().Create(t.Context(), fmt.Sprintf("web/2026/11/20/1500/%06d.log", number), body, store.CreateOptions{Metadata: metadata}); err != nil {
					t.Fatal(err)
				}
			}
			var f follow.Follower
			poll := func() (lines []string, fresh int) {
				t.Helper()
				q, err := query.New([]query.Store{source.ReadOnly(s)}, query.Selection{From: hour, To: hour.Add(time.Hour)}, query.Options{})
				if err != nil {
					t.Fatal(err)
				}
				p, err := q.Plan(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				p = f.Unread(t.Context(), q, p)
				if err := q.Run(t.Context(), p, func(m query.Match) error {
					f.Emitted(m.Segment)
					lines = append(lines, string(m.Line))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				report := q.Report()
				f.Done(&report)
				return lines, len(p.Segments)
			}
			create(1, c.twin, c.meta)
			if lines, fresh := poll(); len(lines) > 0 || fresh != 1 {
				t.Errorf("the twin has %q, %d segments", lines, fresh)
			}
			if _, fresh := poll(); fresh != 0 {
				t.Errorf("%d segments are read again", fresh)
			}
			create(2, b.Bytes(), honest.Encode())
			if lines, _ := poll(); len(lines) != 3 {
				t.Errorf("the segment has %q", lines)
			}
			if lines, fresh := poll(); !slices.Equal(lines, nil) || fresh != 0 {
				t.Errorf("%q again, %d segments", lines, fresh)
			}
		})
	}
}
