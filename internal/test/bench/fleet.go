package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/internal/test/loggen"
	"logstow/query"
	"logstow/record"
	"logstow/record/recognize"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
)

const (
	// fleetInstances flush once a minute; a segment holds fleetMinute bytes of JSON lines.
	fleetInstances = 50
	fleetMinute    = 80_000
	fleetService   = "fleet"
	// fleetDelay is added to each request.
	fleetDelay = 25 * time.Millisecond
)

// benchFleet measures queries before and after compaction of a number of small segments in the
// storage of AZURE_STORAGE_CONNECTION_STRING, behind a proxy that delays each request.
func benchFleet(ctx context.Context, segments, runs int) (err error) {
	connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection == "" {
		return errors.New("-fleet needs AZURE_STORAGE_CONNECTION_STRING: go run ./internal/test/azurite/cmd/azurite-run go run ./internal/test/bench -fleet 2550")
	}
	dir, err := os.MkdirTemp("", "logstow-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &suite{ctx: ctx, dir: dir, runs: runs, store: fmt.Sprintf("azblob://fleet-%d", os.Getpid())}
	if err := b.build(); err != nil {
		return err
	}
	stored, err := b.createFleet(ctx, segments)
	if err != nil {
		return err
	}
	slow, stop, err := delayed(ctx, connection, fleetDelay)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%d segments of %d instances in an hour, %d bytes stored, %v added to each request, medians of %d runs\n\n",
		segments, fleetInstances, stored, fleetDelay, runs)
	fmt.Printf("%-44s %8s %8s %9s   %s\n", "", "CPU s", "wall s", "peak MiB", "requests")
	if err := b.fleetQueries("before compaction", slow); err != nil {
		return err
	}
	// Azurite is a replicated account: the second run removes the inputs of outputs that are in its second location too.
	for run := range 2 {
		if run > 0 {
			time.Sleep(2 * time.Second)
		}
		if err := b.compact(ctx, connection); err != nil {
			return err
		}
	}
	return b.fleetQueries("after", slow)
}

// compact runs shipper compact and prints what it took.
func (b *suite) compact(ctx context.Context, connection string) error {
	began := time.Now()
	compact := exec.CommandContext(ctx, filepath.Join(b.dir, "shipper"), "compact", "--store", b.store, "--after", "0s",
		"--grace", "0s", "--max-age", "3650d", "--from", from, "--to", to)
	compact.Env = append(os.Environ(), "AZURE_STORAGE_CONNECTION_STRING="+connection)
	out, err := compact.CombinedOutput()
	if err != nil {
		return fmt.Errorf("shipper compact: %w\n%s", err, out)
	}
	fmt.Printf("  %.1f s, %.1f CPU s: %s", time.Since(began).Seconds(),
		(compact.ProcessState.UserTime() + compact.ProcessState.SystemTime()).Seconds(), out)
	return nil
}

// fleetQueries measures queries of the fleet, each without a cache.
func (b *suite) fleetQueries(when, connection string) error {
	within := func(from, to string, args ...string) *command {
		c := b.command("logq",
			append([]string{"query", "-s", fleetService, "--from", from, "--to", to, "--no-cache", "--explain", "-o", "json"}, args...)...)
		c.store, c.env = b.store, []string{"AZURE_STORAGE_CONNECTION_STRING=" + connection}
		return c
	}
	query := func(args ...string) *command { return within(from, to, args...) }
	names := []string{"one trace id", "a count by a field", "two minutes of errors"}
	rows, err := b.interleaved(query(loggen.Needle), query("--where", `route == "/api/v1/orders"`, "--count"),
		within("2026-11-20T15:06:00Z", "2026-11-20T15:08:00Z", "-l", "error"))
	if err != nil {
		return err
	}
	for i, r := range rows {
		fmt.Printf("%-44s %8.3f %8.3f %9d   %s\n", names[i]+", "+when, r.cpu.Seconds(), r.wall.Seconds(), r.peak, explained(r.errs))
	}
	return nil
}

// explained is the number of requests and of blocks in a report of --explain -o json.
func explained(errs string) string {
	for line := range strings.Lines(errs) {
		var r query.Report
		if json.Unmarshal([]byte(line), &r) == nil && r.Plan != "" {
			return fmt.Sprintf("%d list, %d read; %d of %d blocks", r.Requests.List, r.Requests.Get, r.BlocksRead, r.BlocksTotal)
		}
	}
	return errs
}

// createFleet writes an hour of segments, and returns their size.
func (b *suite) createFleet(ctx context.Context, segments int) (stored int64, err error) {
	s, err := open.Store(ctx, b.store, open.Options{Getenv: os.Getenv})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	hour, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return 0, err
	}
	compressor := segment.NewCompressor()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range segments {
		body, meta, err := fleetSegment(compressor, hour, i, segments)
		if err != nil {
			return 0, err
		}
		stored += int64(len(body))
		name := blobnaming.Name{Service: fleetService, Bucket: hour, Number: uint64(i + 1)}
		group.Go(func() error {
			_, err := s.Blobs().Create(ctx, name.String(), body, store.CreateOptions{Metadata: meta.Encode()})
			return err
		})
	}
	return stored, group.Wait()
}

// fleetSegment is segment i of all: a minute of one instance. One of them holds the needle.
func fleetSegment(compressor *segment.Compressor, hour time.Time, i, all int) ([]byte, blobnaming.Metadata, error) {
	var text, body bytes.Buffer
	start := hour.Add(time.Duration(i/fleetInstances) * time.Minute)
	if err := loggen.Write(&text, loggen.Options{Kind: "json", Size: fleetMinute, Start: start, Span: 55 * time.Second, Seed: uint64(i)}); err != nil {
		return nil, blobnaming.Metadata{}, err
	}
	instance := fmt.Sprintf("%s-%d", fleetService, i%fleetInstances)
	salt := [16]byte{byte(i), byte(i >> 8), byte(i >> 16)}
	w := segment.NewWriter(&body, segment.Options{
		Service: fleetService, Instance: instance, Salt: salt, BucketStart: hour.Unix(), BucketWidth: 3600, Compressor: compressor,
	})
	r := recognize.New(recognize.Options{})
	for line := range bytes.Lines(text.Bytes()) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if i != all/2 { // its trace id is the needle of one segment only
			line = bytes.Replace(line, []byte(loggen.Needle), []byte("none"), 1)
		}
		stamp := r.Stamp(line, start.UnixNano(), start.UnixNano())
		if err := w.Append(record.Record{Time: stamp.Time, Level: stamp.Level, Source: "app.log", Message: line}); err != nil {
			return nil, blobnaming.Metadata{}, err
		}
	}
	meta, err := w.Close(int64(i + 1))
	return body.Bytes(), meta, err
}

// delayed starts a proxy for each endpoint of a connection string that delays each request, and
// returns a connection string with theirs.
func delayed(ctx context.Context, connection string, delay time.Duration) (slow string, stop func(), err error) {
	var servers []*http.Server
	var serving sync.WaitGroup
	stop = func() {
		for _, s := range servers {
			_ = s.Close()
		}
		serving.Wait()
	}
	slow = regexp.MustCompile(`(Blob|Table)Endpoint=[^;]+`).ReplaceAllStringFunc(connection, func(pair string) string {
		key, endpoint, _ := strings.Cut(pair, "=")
		target, parseErr := url.Parse(endpoint)
		listener, listenErr := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err = errors.Join(err, parseErr, listenErr); err != nil {
			return pair
		}
		base := &url.URL{Scheme: target.Scheme, Host: target.Host}
		proxy := &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(base); r.Out.Host = target.Host },
			Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(delay):
			case <-r.Context().Done():
			}
			proxy.ServeHTTP(w, r)
		})}
		servers = append(servers, server)
		serving.Go(func() { _ = server.Serve(listener) })
		return key + "=http://" + listener.Addr().String() + target.Path
	})
	return slow, stop, err
}
