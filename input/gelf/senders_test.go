package gelf_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/inputtest"
	"logstow/record"
)

// text is what testdata/send.cjs sends.
func text(i int) string {
	t := fmt.Sprintf("order %d \"failed\" ✓\n  at line", i)
	for k := 0; i%10 == 0 && k < 100; k++ {
		t += fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %d", i, k)))
	}
	return t
}

func TestClient(t *testing.T) {
	t.Parallel()
	dir := inputtest.Modules(t, "senders", "gelf-pro")
	const count = 200
	for _, network := range []string{"udp", "tcp"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			s, sink, stop := serve(t, network+"://:0", nil, nil)
			_, port, err := net.SplitHostPort(s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			before := time.Now().Add(-time.Second)
			inputtest.Send(t, dir, network, port, count)
			seen := map[string]bool{}
			for _, r := range sink.Wait(t, count) {
				var d struct{ Host string }
				if err := json.Unmarshal(r.Attributes, &d); err != nil {
					t.Fatalf("%v: %.200s", err, r.Attributes)
				}
				seen[string(r.Message)] = true
				at := time.Unix(0, r.Time)
				if r.Service != "shop" || r.Level != record.Error || r.Source != d.Host || at.Before(before) || time.Since(at) < -time.Second || r.Time%1e6 != 0 {
					t.Fatalf("%s %v %s %v: %.300s", r.Service, r.Level, r.Source, at, r.Message)
				}
			}
			for i := range count {
				if !seen[text(i)] {
					t.Fatalf("message %d is missing: %.100q", i, strings.SplitN(text(i), "\n", 2)[0])
				}
			}
			stop()
			if stats := s.Stats(); stats.Invalid.Load()+stats.Incomplete.Load()+stats.Dropped.Load() != 0 {
				t.Errorf("%+v", stats)
			}
		})
	}
}
