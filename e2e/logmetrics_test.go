package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// logMetricsConfig is a shipper's configuration; %s are flush interval, condition of the changing metric, rules, store and buffer.
const logMetricsConfig = `flush-interval: %s
metrics: 127.0.0.1:0
log-metrics:
  - { name: changing_total, type: counter, where: %s }
  - { name: http_requests_total, type: counter, where: 'has(status)', labels: [status, method] }
  - { name: http_seconds, type: histogram, value: took_ms, scale: 0.001, buckets: [0.1, 0.25, 1], labels: [method] }
  - { name: sent_bytes_total, type: counter, where: 'level >= "info"', value: bytes }
  - { name: seen_total, type: counter, where: 'has(marker)', labels: [marker] }
%sstore: %s
service: crash
instance: pod-1
bucket: 60m
buffer: { dir: %s }
inputs:
  - files: %q
    from-start: true
`

// logMetricsRig writes lines for a shipper with log metrics, and adds up its metrics over its lives.
type logMetricsRig struct {
	*rig
	config, log string
	lines       int
	process     *process
	url         string
	sums        map[string]float64
}

func (r *logMetricsRig) configure() {
	r.t.Helper()
	rules := []string{"", "drop: [{ contains: ['\"status\":404'] }]\n", "sample: [{ contains: ['\"status\":200'], one-in: 3 }]\nredact: all\n"}[r.rnd.IntN(3)]
	text := fmt.Sprintf(logMetricsConfig, []string{"200ms", "1s", "1h"}[r.rnd.IntN(3)], []string{"'status > 1'", "has(took_ms)"}[r.rnd.IntN(2)],
		rules, r.store, r.buffer, r.log)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// append appends lines of random requests; the last one has a marker.
func (r *logMetricsRig) append(n int, marker string) {
	r.t.Helper()
	var b bytes.Buffer
	for range n {
		r.lines++
		fmt.Fprintf(&b, `{"time":%q,"level":%q,"method":%q,"status":%d,"took_ms":%d,"bytes":%d,"line":%d}`+"\n",
			base.Add(time.Duration(r.lines)*time.Second).Format(time.RFC3339), []string{"debug", "info", "error"}[r.rnd.IntN(3)],
			[]string{"GET", "POST"}[r.rnd.IntN(2)], []int{200, 404, 500}[r.rnd.IntN(3)], r.rnd.IntN(2000), r.rnd.IntN(100_000), r.lines)
	}
	if marker != "" {
		fmt.Fprintf(&b, "marker=%s\n", marker)
	}
	f, err := os.OpenFile(r.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = f.Write(b.Bytes())
	if cerr := f.Close(); err != nil || cerr != nil {
		r.t.Fatal(err, cerr)
	}
}

func (r *logMetricsRig) startShipper() {
	r.t.Helper()
	r.process = r.start(plain(), nil, "run", "--config", r.config)
	r.url = "http://" + r.process.address(r.t, "serving metrics") + "/metrics"
	await.Until(r.t, patience, "it starts", r.process.started)
}

func (r *logMetricsRig) reload() {
	r.t.Helper()
	r.configure()
	before := r.process.count("configuration reloaded")
	r.process.signal(r.t, syscall.SIGHUP)
	await.Until(r.t, patience, "it reloads", func() bool { return r.process.count("configuration reloaded") > before })
}

// scrape are the samples of log metrics that do not change, by name and labels.
func (r *logMetricsRig) scrape() map[string]float64 {
	r.t.Helper()
	status, text := get(r.t, r.url)
	if status != http.StatusOK {
		r.t.Fatalf("status %d: %s", status, text)
	}
	samples := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^(http_requests_total|http_seconds|sent_bytes_total|seen_total)(_\w+)?(?:\{(.*)\})? (\S+)$`).FindAllStringSubmatch(text, -1) {
		key, of := m[1]+"|", strings.TrimPrefix(m[2], "_")
		for _, label := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(m[3], -1) {
			if label[1] == "le" {
				of = label[2]
			} else {
				key += label[2] + "|"
			}
		}
		v, err := strconv.ParseFloat(m[4], 64)
		if err != nil {
			r.t.Fatal(err)
		}
		samples[key+of] = v
	}
	return samples
}

// addUp adds the samples of a life that is about to end.
func (r *logMetricsRig) addUp() {
	for key, v := range r.scrape() {
		r.sums[key] += v
	}
}

// stored are the same samples from logq stats.
func (r *logMetricsRig) stored() map[string]float64 {
	r.t.Helper()
	samples := map[string]float64{}
	stats := func(add func(row map[string]any), args ...string) {
		out := r.must(r.t, append([]string{"logq", "stats", "--from", "2024-02-01", "-o", "json"}, args...)...)
		for line := range strings.Lines(string(out)) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				r.t.Fatal(err)
			}
			add(row)
		}
	}
	number := func(v any) float64 { f, _ := v.(float64); return f }
	stats(func(row map[string]any) {
		samples[fmt.Sprintf("http_requests_total|%v|%v|", row["method"], row["status"])] = number(row["n"])
	}, "--where", "has(status)", "--by", "status,method", "--compute", "count as n")
	stats(func(row map[string]any) {
		key := fmt.Sprintf("http_seconds|%v|", row["method"])
		samples[key+"count"], samples[key+"+Inf"], samples[key+"sum"] = number(row["n"]), number(row["n"]), number(row["sum"])/1000
		samples[key+"0.1"], samples[key+"0.25"], samples[key+"1"] = number(row["a"]), number(row["b"]), number(row["c"])
	}, "--where", "has(took_ms)", "--by", "method",
		"--compute", "count as n, sum(took_ms) as sum, count(took_ms <= 100) as a, count(took_ms <= 250) as b, count(took_ms <= 1000) as c")
	stats(func(row map[string]any) { samples["sent_bytes_total|"] = number(row["sum"]) }, "-l", "info+", "--compute", "sum(bytes) as sum")
	stats(func(row map[string]any) { samples[fmt.Sprintf("seen_total|%v|", row["marker"])] = number(row["n"]) },
		"--where", "has(marker)", "--by", "marker", "--compute", "count as n")
	return samples
}

// compare compares the sums over the lives with logq stats; at most allows the sums to be lower.
func (r *logMetricsRig) compare(atMost bool) {
	r.t.Helper()
	p := r.start(plain(), nil, "run", "--config", r.config, "--once", "--retry-for", "60s")
	p.end(r.t, patience)
	if p.status() != 0 {
		r.t.Fatalf("status %d: %s", p.status(), p.tail())
	}
	want := r.stored()
	for key := range r.sums {
		if _, ok := want[key]; !ok {
			want[key] = 0
		}
	}
	for key, stored := range want {
		got, tolerance := r.sums[key], 0.0
		if strings.HasSuffix(key, "sum") { // of fractions, added up by this test
			tolerance = 1e-9 * math.Abs(stored)
		}
		if diff := got - stored; diff > tolerance || diff < -tolerance && !atMost {
			r.t.Errorf("%s: the metrics have %v, logq stats has %v", key, got, stored)
		}
	}
}

func newLogMetricsRig(t *testing.T) *logMetricsRig {
	r := &logMetricsRig{rig: newRig(t, false), sums: map[string]float64{}}
	r.config, r.log = filepath.Join(r.root, "shipper.yaml"), filepath.Join(r.root, "app.log")
	r.configure()
	return r
}

// Log metrics, added up over the lives of a shipper, equal logq stats over the same records: it is reloaded,
// stopped, and killed when everything is counted and scraped. What a killed shipper had in its log only is
// recovered and not counted again.
func TestLogMetrics(t *testing.T) {
	t.Parallel()
	r := newLogMetricsRig(t)
	for life := range (effort.Cases{Test: 2, Full: 6}).N() {
		r.startShipper()
		for range 3 {
			r.append(1+r.rnd.IntN(300), "")
			r.reload()
		}
		marker := fmt.Sprintf("m%d", life)
		r.append(r.rnd.IntN(300), marker)
		await.Until(t, patience, "all is counted", func() bool { return r.scrape()["seen_total|"+marker+"|"] == 1 })
		r.addUp()
		if life%2 == 0 {
			r.process.kill(t)
			continue
		}
		r.process.signal(t, syscall.SIGTERM)
		r.process.end(t, patience)
		if r.process.status() != 0 {
			t.Fatalf("status %d: %s", r.process.status(), r.process.tail())
		}
	}
	r.compare(false)
	t.Logf("%d lines, %d samples", r.lines, len(r.sums))
}

// A shipper that is killed at any time loses what it counted since the last scrape, and counts nothing twice.
func TestLogMetricsKilled(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "eight kills")
	r := newLogMetricsRig(t)
	for life := range 8 {
		r.startShipper()
		r.append(2000, "")
		last := r.scrape()
		for end := time.Now().Add(time.Duration(r.rnd.IntN(300)) * time.Millisecond); time.Now().Before(end); {
			last = r.scrape()
		}
		if life == 0 { // one of them counts something
			await.Until(t, patience, "something is counted", func() bool { last = r.scrape(); return last["http_seconds|GET|count"] > 0 })
		}
		r.process.kill(t)
		for key, v := range last {
			r.sums[key] += v
		}
	}
	r.append(1, "end")
	counted := r.sums["http_seconds|GET|count"]
	r.compare(true)
	if counted == 0 {
		t.Error("nothing was counted")
	}
	t.Logf("%d lines, %v of GET counted", r.lines, counted)
}
