package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
	"logstow/internal/test/testrand"
)

const (
	// serveClients is the number of clients of TestLongServeClients.
	serveClients = 32
	// serveMemory is the maximum memory of a server with that many clients over the logs of the tests.
	serveMemory = 512 << 20
)

// 32 clients with mixed queries: every answer is the one of logq ql, none is an error, and the memory of the server is
// bounded.
func TestLongServeClients(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "many clients at once")
	lasting, size := 8*time.Second, int64(shopBytes)
	if effort.Of() == effort.Long {
		lasting, size = time.Minute, 50*shopBytes
	}
	seed := testrand.Seed(t)
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	fillShop(t, s, size)
	type request struct {
		path   string
		params []string
		want   string
	}
	var all []request
	logs, metrics := served()
	for _, q := range logs {
		all = append(all, request{"query_range", inShop("query", q, "limit", "5000", "direction", "forward"), results(t, s.ql(t, "-n", "5000", q))},
			request{"query_range", inShop("query", q, "limit", "100"), results(t, s.ql(t, "--newest", "-n", "100", q))})
	}
	for _, q := range metrics {
		all = append(all, request{"query_range", inShop("query", q, "step", "1m"), results(t, s.ql(t, "--step", "1m", q))},
			request{"query", []string{"query", q, "time", shopTo}, results(t, s.ql(t, q))})
	}
	server := s.serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	defer cancel()
	var clients sync.WaitGroup
	var mu sync.Mutex
	answered, failures := 0, 0
	for client := range serveClients {
		clients.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(client)))
			for n := 0; n < 2 || ctx.Err() == nil; n++ {
				r := &all[rnd.IntN(len(all))]
				status, body, err := server.try(t, r.path, r.params...)
				wrong := ""
				switch {
				case err != nil || status != http.StatusOK:
					wrong = fmt.Sprintf("%v, status %d: %.300s", err, status, body)
				case results(t, body) != r.want:
					wrong = fmt.Sprintf("%.300s, want %.300s", results(t, body), r.want)
				}
				mu.Lock()
				answered++
				if wrong != "" {
					if failures++; failures < 5 {
						t.Errorf("%s %q: %s", r.path, r.params, wrong)
					}
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	if answered < 2*serveClients {
		t.Errorf("only %d answers", answered)
	}
	peak := memoryPeak(server.cmd.Process.Pid)
	if peak == 0 || peak > serveMemory {
		t.Errorf("the server used %d MiB at most, want at most %d", peak>>20, serveMemory>>20)
	}
	t.Logf("%d answers in %v, %d MiB at most", answered, lasting, peak>>20)
	server.signal(t, os.Interrupt)
	server.end(t, patience)
	if server.status() != 0 {
		t.Errorf("status %d: %s", server.status(), server.tail())
	}
}

// slowAzurite is a filled store on Azurite behind a proxy, whose slow requests take up to a delay.
func slowAzurite(t *testing.T, delay time.Duration) (target, *faultproxy.Proxy) {
	t.Helper()
	a := azurite.Start(t)
	proxy, err := faultproxy.Start(faultproxy.Options{Blob: a.BlobEndpoint, Table: a.TableEndpoint, Delay: delay})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	through := azurite.Azurite{BlobEndpoint: proxy.BlobEndpoint, TableEndpoint: proxy.TableEndpoint}
	s := target{name: "azurite", store: "azblob://" + a.Container(), env: []string{"AZURE_STORAGE_CONNECTION_STRING=" + through.ConnectionString()}}
	fillShop(t, s, shopBytes)
	return s, proxy
}

// A client that is gone ends its query: its slot is free, and no request of storage is made for it any more.
func TestServeDisconnect(t *testing.T) {
	t.Parallel()
	// A read takes up to so long: a query that ends before has not waited for its reads.
	const delay = 10 * time.Minute
	s, proxy := slowAzurite(t, delay)
	server := s.serve(t, "--no-cache", "--max-queries", "1", "--metrics")
	for _, q := range []string{`{service_name="shop"} | json | status = 999`, `sum by (status) (count_over_time({service_name="shop"} | json [5m]))`} {
		proxy.SetRules()
		before := proxy.Counts().Requests[faultproxy.ReadBlob]
		server.ask(t, "query_range", inShop("query", q, "step", "5m", "limit", "10")...)
		all := proxy.Counts().Requests[faultproxy.ReadBlob] - before
		if all < 10 {
			t.Fatalf("the query reads only %d times", all)
		}
		proxy.SetRules(faultproxy.Rule{Match: faultproxy.Of(faultproxy.ReadBlob), Chance: 1, Faults: []faultproxy.Fault{faultproxy.Slow}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		// Another range: the answer to the first is kept for some time.
		r := server.request(t, "query_range", "query", q, "start", "2026-11-20T13:30:00Z", "end", shopTo, "step", "5m", "limit", "10").WithContext(ctx)
		before = proxy.Counts().Requests[faultproxy.ReadBlob]
		go func() {
			answer, err := http.DefaultClient.Do(r)
			if err == nil {
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			ended <- err
		}()
		await.Until(t, patience, "the query reads", func() bool { return proxy.Counts().Requests[faultproxy.ReadBlob] > before })
		cancel()
		if err := <-ended; err == nil {
			t.Fatal("the query ended before its client was gone")
		}
		await.Until(t, patience, "the slot is free", func() bool {
			_, text := get(t, strings.TrimSuffix(server.url, "loki/api/v1/")+"metrics")
			return strings.Contains(text, "logstow_queries_running 0")
		})
		// A read that was still under way would be made again when its connection is cut.
		proxy.SetRules()
		if err := errors.Join(proxy.Down(), proxy.Up()); err != nil {
			t.Fatal(err)
		}
		reads := proxy.Counts().Requests[faultproxy.ReadBlob]
		time.Sleep(time.Second) // no read is made again, which would be after at most 0.3 s
		if now := proxy.Counts().Requests[faultproxy.ReadBlob]; now != reads {
			t.Errorf("%d reads after the client was gone", now-reads)
		}
	}
}

// The panels of a dashboard share their listings, and one that counts lines reads no block.
func TestServeDashboard(t *testing.T) {
	t.Parallel()
	s, proxy := slowAzurite(t, time.Millisecond)
	server := s.serve(t)
	panels := []string{
		`sum by (level) (count_over_time({service_name="shop"}[1m]))`,
		`rate({service_name="shop"}[1m])`,
		`sum(rate({service_name="shop", level="error"}[5m]))`,
		`sum by (instance) (count_over_time({service_name="shop"}[5m]))`,
		`topk(3, sum by (level) (rate({service_name="shop"}[10m])))`,
		`sum(count_over_time({service_name="shop"}[1m])) > 10`,
	}
	refresh := func(panels ...string) (lists int) {
		before := proxy.Counts().Requests[faultproxy.ListBlobs]
		var all sync.WaitGroup
		for _, q := range panels {
			all.Go(func() {
				a := decode[answer](t, server.ask(t, "query_range", "query", q, "start", "2026-11-20T00:00:00Z", "end", "2026-11-21T00:00:00Z", "step", "60"))
				if stats := a.Data.Stats.Summary; stats.TotalBytesProcessed != 0 || stats.TotalLinesProcessed != 0 {
					t.Errorf("%s reads blocks: %+v", q, stats)
				}
				if string(a.Data.Result) == "[]" {
					t.Errorf("%s: nothing found", q)
				}
			})
		}
		all.Wait()
		return proxy.Counts().Requests[faultproxy.ListBlobs] - before
	}
	began := time.Now() // listings are shared for some seconds from here on
	one := refresh(panels[0])
	if one == 0 {
		t.Fatal("the first query does not list")
	}
	if lists, took := refresh(panels...), time.Since(began); lists > 0 && took < 4*time.Second {
		t.Errorf("six panels list %d times, right behind a query that listed %d times", lists, one)
	}
}
