package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/effort"
)

// fairClients are the clients of TestLongServeTokens, by token: those of heavy and other scan, those of the rest ask for metadata.
func fairClients() map[string]int {
	return map[string]int{"heavy": 20, "other": 6, "a": 6, "b": 6, "c": 6, "d": 6}
}

// 50 clients of six tokens: while 20 clients of one token scan without a pause, every request for metadata is answered within a second,
// and the scans of another token have their share.
func TestLongServeTokens(t *testing.T) {
	effort.Need(t, effort.Long, "three minutes of load on all processors")
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	fillShop(t, s, 100*shopBytes)
	services := map[string][]string{}
	for token := range fairClients() {
		services[token] = []string{"*"}
	}
	server := s.serve(t, "--tokens", tokenFile(t, services))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	type count struct {
		answered int
		slowest  time.Duration
	}
	var mu sync.Mutex
	counts := map[string]*count{}
	var clients sync.WaitGroup
	for token, n := range fairClients() {
		counts[token] = new(count)
		for client := range n {
			clients.Go(func() {
				as := server.with(token)
				for i := client; ctx.Err() == nil; i++ {
					path, params := fairRequest(token, i)
					began := time.Now()
					answer, err := http.DefaultClient.Do(as.request(t, path, params...).WithContext(ctx))
					if err == nil {
						_, err = io.Copy(io.Discard, answer.Body)
						answer.Body.Close()
					}
					took := time.Since(began)
					if ctx.Err() != nil {
						return
					}
					if err != nil || answer.StatusCode != http.StatusOK {
						t.Errorf("%s of %s: %v, %+v", path, token, err, answer)
						return
					}
					if !scans(token) {
						time.Sleep(fairPause) // between requests of a client
					}
					mu.Lock()
					counts[token].answered++
					counts[token].slowest = max(counts[token].slowest, took)
					mu.Unlock()
				}
			})
		}
	}
	clients.Wait()
	for token, c := range counts {
		t.Logf("%s: %d answers, the slowest after %v", token, c.answered, c.slowest.Round(time.Millisecond))
		if c.answered == 0 || !scans(token) && c.slowest > time.Second {
			t.Errorf("%s: %d answers, the slowest after %v", token, c.answered, c.slowest)
		}
	}
	if heavy, other := counts["heavy"].answered, counts["other"].answered; other < heavy/4 {
		t.Errorf("%d scans of a token with 6 clients, %d of one with 20", other, heavy)
	}
}

// fairPause is the time between an answer and the next request of a client that asks for metadata.
const fairPause = 250 * time.Millisecond

// scans reports whether the clients of a token scan.
func scans(token string) bool { return token == "heavy" || token == "other" }

// fairRequest is a request of a token, in turns.
func fairRequest(token string, i int) (path string, params []string) {
	if scans(token) {
		return "query_range", inShop("query", fmt.Sprintf(`sum by (status) (count_over_time({service_name="shop"} |~ "(?i)n[a-z]+ %d|x+y+z" | json [1h]))`, i), "step", "1h")
	}
	requests := [][]string{
		inShop("labels"), inShop("label/level/values"), inShop("label/service_name/values", "query", `{service_name="shop"}`),
		inShop("series", "match[]", `{service_name="shop"}`), inShop("index/stats", "query", `{service_name="shop"}`),
		inShop("index/volume", "query", `{service_name=~".+"}`), inShop("index/volume_range", "query", `{service_name="shop"}`, "step", "60"),
		inShop("detected_labels"),
	}
	r := requests[i%len(requests)]
	return r[0], r[1:]
}
