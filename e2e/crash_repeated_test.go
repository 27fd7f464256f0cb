package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/internal/crashpoint"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// TestCrashRepeated kills a shipper while senders repeat what is not acknowledged, as the same Forward
// chunk or with the same Idempotency-Key, until it is: each line is there exactly once, with its attributes. Those of OTLP, which has no keys, may be there
// again.
func TestCrashRepeated(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills while senders repeat")
	r := newRig(t, false)
	bin := armedShipper(t)
	addresses := freeAddresses(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// The context of an attempt ends when senders have to give up.
	attempts, giveUp := context.WithTimeout(t.Context(), 5*time.Minute)
	defer giveUp()
	var all sync.WaitGroup
	var mu sync.Mutex
	want := map[string]string{} // attributes by line
	sent := map[string]int{}
	repeats := map[string]int{}
	for kind, send := range map[string]func(context.Context, string, string, []string) error{
		"forward": sendForward, "lines": sendLines, "otlp": sendOTLP, "push": sendPush,
	} {
		for sender := range 3 {
			address := addresses[0]
			if kind != "forward" {
				address = addresses[1+sender%2] // both addresses of the input
			}
			all.Go(func() {
				for chunk := 0; ctx.Err() == nil; chunk++ {
					name := fmt.Sprintf("%s %d %d", kind, sender, chunk)
					lines := make([]string, 1+chunk%20)
					for i := range lines {
						lines[i] = fmt.Sprintf("%s line=%d", name, i)
					}
					tries := 0
					for ; attempts.Err() == nil; tries++ {
						attempt, cancel := context.WithTimeout(attempts, 5*time.Second)
						err := send(attempt, address, name, lines)
						cancel()
						if err == nil {
							break
						}
						time.Sleep(5 * time.Millisecond) // as a sender does before it repeats
					}
					mu.Lock()
					for i, l := range lines {
						want[l] = attributesOf(kind, name, i, len(lines))
					}
					sent[kind]++
					repeats[kind] += tries
					mu.Unlock()
				}
			})
		}
	}
	args := func() []string {
		sync := []string{"always", "50ms", "never"}[r.rnd.IntN(3)]
		return r.args("--sync", sync, "--forward", addresses[0], "--http", addresses[1], "--http", addresses[2])
	}
	points := pointNames(t)
	for life, next := 1, 0; r.kills < max(4, crashKills(t)/4); life++ {
		point := ""
		var env []string
		if life%2 == 0 {
			point = points[next%len(points)]
			next++
			env = []string{crashpoint.Env + "=" + point + ":" + strconv.Itoa(1+r.rnd.IntN(5))}
		}
		p := r.start(bin, env, args()...)
		wait := r.instant() + 200*time.Millisecond
		if point != "" {
			wait = 2 * time.Second
		}
		select {
		case <-p.ended:
		case <-time.After(wait):
			point = ""
			p.kill(t)
		}
		r.died(p, point, p.cmd.Args)
	}
	p := r.start(plain(), nil, args()...)
	stop()
	all.Wait()
	if attempts.Err() != nil {
		t.Fatalf("not acknowledged in time; output:\n%s", p.tail())
	}
	await.Until(t, patience, "the last run reads", func() bool { return strings.Contains(p.output(), `"msg":"started"`) }) // before, it may be stopped
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	if p.status() != 0 {
		t.Fatalf("the last run ended with status %d, output:\n%s", p.status(), p.tail())
	}
	r.checkAttributes(want)
	for kind, n := range repeats {
		if n == 0 || sent[kind] == 0 {
			t.Errorf("%s: %d chunks, nothing was repeated", kind, sent[kind])
		}
	}
	t.Logf("%d kills, at named points: %v; %d lines, chunks %v, attempts that failed %v", r.kills, hitList(r.hits), len(want), sent, repeats)
}

// checkAttributes finds each line once, with its attributes; those of OTLP at least once.
func (r *rig) checkAttributes(want map[string]string) {
	r.t.Helper()
	lines, got, seen := map[string]bool{}, []byte(nil), map[string]bool{}
	for l := range want {
		lines[l] = true
	}
	r.eachRecord(func(message, attributes string) {
		if !seen[message] || !strings.HasPrefix(message, "otlp ") {
			got = append(append(got, message...), '\n')
		}
		seen[message] = true
		if want, sent := want[message]; sent && attributes != want {
			r.t.Errorf("%s has the attributes %q, want %q", message, attributes, want)
		}
	})
	unique(r.t, lines, got)
}

// attributesOf are the attributes that a sender of a kind gives line i of n in a chunk.
func attributesOf(kind, name string, i, n int) string {
	switch {
	case kind == "forward":
		return fmt.Sprintf(`{"line":%d,"resource":{"chunk":%q}}`, i, name)
	case kind == "otlp":
		return fmt.Sprintf(`{"line":%d,"resource":{"chunk":%q},"scope_name":"s","trace_id":"%032x"}`, i, name, i+1)
	case kind == "push" && i < n/2:
		return fmt.Sprintf(`{"line":"%d","stream":{"host":"a"}}`, i)
	case kind == "push":
		return fmt.Sprintf(`{"line":"%d","stream":{"app":"crash","host":"b"}}`, i)
	}
	return ""
}

// freeAddresses are loopback addresses that were free a moment ago.
func freeAddresses(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		host := "127.0.0.1"
		if runtime.GOOS == "linux" { // all of 127/8 is loopback: no other process gets a port there while it is free
			host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
		}
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}

// sentAt is the time of the first line of a chunk, in Unix seconds.
const sentAt = 1700000000

// sendForward sends a chunk with an id, and waits for its acknowledgement.
func sendForward(ctx context.Context, address, name string, lines []string) error {
	resource := map[string]any{"attributes": map[string]any{"chunk": name}}
	events := []any{[]any{[]any{-1, map[string]any{}}, map[string]any{"resource": resource}}} // a group, as of Fluent Bit
	for i, l := range lines {
		events = append(events, []any{[]any{sentAt + i, map[string]any{"line": i}}, map[string]any{"log": l}})
	}
	message, err := msgpack.Marshal([]any{"tag", events, map[string]any{"chunk": name}})
	if err != nil {
		return err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	if _, err := c.Write(message); err != nil {
		return err
	}
	var ack map[string]string
	if err := msgpack.NewDecoder(c).Decode(&ack); err != nil {
		return err
	}
	if ack["ack"] != name {
		return fmt.Errorf("acknowledged %q, want %q", ack["ack"], name)
	}
	return nil
}

func sendLines(ctx context.Context, address, name string, lines []string) error {
	return sendKeyed(ctx, "http://"+address+"/v1/lines", "text/plain", name, []byte(strings.Join(lines, "\n")))
}

// sendPush sends streams of one service, and of the configured one.
func sendPush(ctx context.Context, address, name string, lines []string) error {
	var values []string
	for i, l := range lines {
		values = append(values, fmt.Sprintf(`["%d000000000",%q,{"line":"%d"}]`, sentAt, l, i))
	}
	half := len(values) / 2
	body := fmt.Appendf(nil, `{"streams":[{"stream":{"host":"a"},"values":[%s]},{"stream":{"app":"crash","host":"b"},"values":[%s]}]}`,
		strings.Join(values[:half], ","), strings.Join(values[half:], ","))
	return sendKeyed(ctx, "http://"+address+"/loki/api/v1/push", "application/json", name, body)
}

// sendOTLP sends records of one resource and one scope.
func sendOTLP(ctx context.Context, address, name string, lines []string) error {
	var records []string
	for i, l := range lines {
		records = append(records, fmt.Sprintf(`{"timeUnixNano":"%d000000000","body":{"stringValue":%q},"traceId":"%032x","attributes":[{"key":"line","value":{"intValue":"%d"}}]}`,
			sentAt, l, i+1, i))
	}
	body := fmt.Appendf(nil, `{"resourceLogs":[{"resource":{"attributes":[{"key":"chunk","value":{"stringValue":%q}}]},"scopeLogs":[{"scope":{"name":"s"},"logRecords":[%s]}]}]}`,
		name, strings.Join(records, ","))
	return sendKeyed(ctx, "http://"+address+"/v1/logs", "application/json", name, body)
}

// sendKeyed posts a body with a key.
func sendKeyed(ctx context.Context, url, kind, key string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Idempotency-Key", key)
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode/100 != 2 {
		return errors.New(res.Status + ": " + string(text))
	}
	return nil
}
