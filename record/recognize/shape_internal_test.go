package recognize

import (
	"testing"

	"logstow/record"
)

// What a line teaches is enough for the next of its program, and for no other.
func TestShape(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		first, second string
		known         bool
	}{
		{`{"time":"2026-11-20T10:00:00Z","level":"INFO","msg":"a"}`, `{"time":"2026-11-20T10:00:01.5Z","level":"ERROR","msg":"b"}`, true},
		{`{"level":"info","n":1, "ts" : "2026-11-20T10:00:00Z","msg":"a"}`, `{"level":"fatal","n":1, "ts" : "2026-11-20T10:00:01.5Z"}`, true},
		{`{"level":"info","n":1,"ts":"2026-11-20T10:00:00Z"}`, `{"level":"info","n":2,"ts":"2026-11-20T10:00:00Z"}`, false},
		{`{"level":"info","ts":"2026-11-20T10:00:00Z"}`, `{"ts":"2026-11-20T10:00:00Z","level":"info"}`, false},
		{`{"level":30,"time":"2026-11-20T10:00:00Z"}`, `{"level":30,"time":"2026-11-20T10:00:00Z"}`, false},
		{`{"msg":"no level","time":"2026-11-20T10:00:00Z"}`, `{"msg":"no level","time":"2026-11-20T10:00:00Z"}`, false},
	} {
		r := New(Options{})
		const now = 1795250000e9
		first := r.Stamp([]byte(tc.first), now, now)
		if !first.Found {
			t.Fatalf("%s: no time", tc.first)
		}
		f := finding{minute: &r.minute, shape: &r.shape}
		if known := r.shape.read(&f, []byte(tc.second)); known != tc.known {
			t.Errorf("%s after %s: known %v, want %v", tc.second, tc.first, known, tc.known)
		}
		want := New(Options{}).Stamp([]byte(tc.second), now, now)
		if got := r.Stamp([]byte(tc.second), now, now); got != want || tc.known && (f.level != got.Level || got.Level == record.None) {
			t.Errorf("%s after %s: %+v, want %+v", tc.second, tc.first, got, want)
		}
	}
}
