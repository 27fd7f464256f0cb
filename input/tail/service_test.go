package tail_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/tail"
)

// serviceSink collects lines with their services.
type serviceSink struct {
	*sink
	got []string
}

func (s *serviceSink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	for _, r := range c.Records {
		s.got = append(s.got, fmt.Sprintf("%s %s: %s", c.Service, r.Source, r.Message))
	}
	return s.sink.Append(ctx, c)
}

// On a node, the path of a file gives its service.
func TestServiceOfPath(t *testing.T) {
	t.Parallel()
	pattern, err := container.ParsePattern("{namespace}.{container}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		service string
		other   []string
		logged  int
	}{
		{"", nil, 1},
		{"node", []string{"node kubelet.log: k", "node other.log: o"}, 0},
	} {
		t.Run("default service "+c.service, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			const stdout = "2026-11-20T15:04:05.000000000Z stdout F "
			put(t, dir,
				"pods/shop_web-1_u/nginx/0.log", stdout+"1\n", "pods/bank_pay-1_u/app/3.log", stdout+"2\n",
				"pods/kubelet.log", "k\n", "pods/other.log", "o\n")
			s := &serviceSink{sink: newSink()}
			var logged bytes.Buffer
			run := func(want ...string) {
				t.Helper()
				tailer, err := tail.New(tail.Options{
					Options: input.Options{Service: c.service, Sink: s, Log: slog.New(slog.NewTextHandler(&logged, nil))},
					Paths:   []string{filepath.Join(dir, "pods/**/*.log")}, ServiceOf: pattern.Of, Once: true, Resume: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := tailer.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				slices.Sort(s.got)
				if diff := cmp.Diff(want, s.got); diff != "" {
					t.Error(diff)
				}
				s.got = nil
			}
			run(append([]string{"bank.app bank/pay-1/app/stdout: 2"}, append(c.other, "shop.nginx shop/web-1/nginx/stdout: 1")...)...)
			if n := strings.Count(logged.String(), "no service"); n != c.logged {
				t.Errorf("logged %d times: %s", n, logged.String())
			}
			// A rotated file keeps its service.
			add(t, filepath.Join(dir, "pods/shop_web-1_u/nginx/0.log"), stdout+"3\n")
			rename(t, dir, "pods/shop_web-1_u/nginx/0.log", "pods/shop_web-1_u/nginx/0.log.20261120-150405")
			put(t, dir, "pods/shop_web-1_u/nginx/0.log", stdout+"4\n")
			run("shop.nginx shop/web-1/nginx/stdout: 3", "shop.nginx shop/web-1/nginx/stdout: 4")
		})
	}
}

// One Tailer serves several services with one buffer.
func TestServicesFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "1\n", "b.log", "1\n")
	s := &serviceSink{sink: newSink()}
	tailer, err := tail.New(tail.Options{
		Options: input.Options{Sink: s}, Paths: []string{filepath.Join(dir, "*.log")}, FromStart: true, Polling: true,
		ServiceOf: func(path string) (service, source string, ok bool) {
			return strings.TrimSuffix(filepath.Base(path), ".log"), "", true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- tailer.Run(ctx) }()
	select {
	case <-s.sink.got:
	case <-time.After(time.Minute):
		t.Fatal("nothing was read")
	}
	if err := os.Rename(filepath.Join(dir, "a.log"), filepath.Join(dir, "a.log.1")); err != nil {
		t.Fatal(err)
	}
	add(t, filepath.Join(dir, "a.log.1"), "2\n")
	put(t, dir, "a.log", "3\n")
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.got)
	if diff := cmp.Diff([]string{"a a.log: 1", "a a.log: 2", "a a.log: 3", "b b.log: 1"}, s.got); diff != "" {
		t.Error(diff)
	}
}
