package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/internal/crashpoint"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
)

// tableRequests matches the requests to tables.
func tableRequests(k faultproxy.Kind, r *http.Request) bool {
	return k == faultproxy.WriteEntities || k == faultproxy.ReadEntities || strings.HasSuffix(r.URL.Path, "/Tables")
}

// refuseTables makes every request to a table fail. Blobs work.
func (r *rig) refuseTables() {
	r.proxy.SetRules(faultproxy.Rule{Match: tableRequests, Chance: 1, Faults: []faultproxy.Fault{faultproxy.InternalError}})
}

// logRandom writes lines that hardly compress to the rig's file.
func (r *rig) logRandom(lines int) map[string]bool {
	r.t.Helper()
	rnd := rand.New(rand.NewPCG(r.seed, 7))
	want := make(map[string]bool, lines)
	var b strings.Builder
	for i := range lines {
		line := fmt.Sprintf("%s INFO line %d %016x%016x%016x%016x", base.Add(time.Duration(i)*10*time.Millisecond).Format(time.RFC3339Nano), i, rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64())
		want[line] = true
		b.WriteString(line + "\n")
	}
	appendFile(r.t, r.logFile(), b.String())
	return want
}

// unindexed is how many entities wait in the rig's buffer.
func (r *rig) unindexed() int {
	r.t.Helper()
	var status struct{ Unindexed, Sealed int }
	if err := json.Unmarshal(r.must(r.t, "shipper", "status", "--buffer-dir", r.buffer, "-o", "json"), &status); err != nil {
		r.t.Fatal(err)
	}
	return status.Unindexed
}

// metric is the value of a metric without labels.
func metric(t *testing.T, address, name string) float64 {
	t.Helper()
	_, body := get(t, "http://"+address+"/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no metric %s in\n%s", name, body)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestIndexOutage ships several times what the buffer holds while all requests to tables fail and the shipper is killed at the
// points between a blob and its entity. All is stored; the entities wait, and are written when tables work again.
func TestIndexOutage(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills at nine points, with 100,000 lines")
	r := newRig(t, true)
	const lines = 100_000
	want := r.logRandom(lines)
	raw := size(t, r.logs)
	args := r.args("--buffer-size", "1MiB", "--flush-size", "64KiB", "--flush-interval", "1s", "--bucket", "60m", "--metrics", "127.0.0.1:0", r.glob())
	r.refuseTables()
	bin := armedShipper(t)
	for _, point := range []string{"upload.before-done:3", "entity.before-write:3", "entity.before-sync:3", "entity.after-sync:3", "sealed.before-remove:3", "upload.before-index"} {
		p := r.start(bin, []string{crashpoint.Env + "=" + point}, args...)
		p.end(t, patience)
		r.died(p, point, args)
	}
	p := r.start(plain(), nil, args...)
	address := p.address(t, "serving metrics")
	read := func() bool { return r.found() == lines }
	await.Until(t, patience, "all lines are stored", read)
	waiting := metric(t, address, "logstow_index_entities_waiting")
	if status, body := get(t, "http://"+address+"/readyz"); status != http.StatusOK || !strings.Contains(body, fmt.Sprintf("index: %.0f entities waiting, 0 dropped", waiting)) {
		t.Errorf("readyz: %d %s, want %.0f entities", status, body, waiting)
	}
	await.Until(t, patience, "no batch waits", func() bool { return size(t, r.buffer+"/sealed") == 0 })
	p.kill(t)
	entities := r.unindexed()
	if entities < 30 || float64(entities) < waiting {
		t.Errorf("%d entities wait, want those of all segments", entities)
	}
	r.stored(lines)

	r.proxy.SetRules()
	for _, point := range []string{"upload.after-index", "entity.before-remove", "entity.after-remove"} {
		p := r.start(bin, []string{crashpoint.Env + "=" + point}, args...)
		p.end(t, patience)
		r.died(p, point, args)
		if point == "entity.after-remove" {
			break
		}
		if n := r.unindexed(); n != entities {
			t.Errorf("killed at %s: %d entities wait, want %d", point, n, entities)
		}
	}
	r.settle("--buffer-size", "1MiB", r.glob())
	if n := r.unindexed(); n != 0 {
		t.Errorf("%d entities wait in the end", n)
	}
	r.stored(lines)
	r.check(want)
	r.must(t, "shipper", "verify")
	t.Logf("%d MB of lines through a buffer of 1 MiB, %d entities waited", raw/1e6, entities)
}

// TestIndexOff ships, and responds to nothing, without a request to a table. Entities that waited are dropped.
func TestIndexOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	want := r.log(0, 100)
	r.refuseTables()
	p := r.start(plain(), nil, r.args(r.glob())...)
	await.Until(t, patience, "an entity waits", func() bool { return p.started() && r.unindexed() > 0 })
	p.kill(t)
	requests := func() int {
		c := r.proxy.Counts().Requests
		return c[faultproxy.WriteEntities] + c[faultproxy.ReadEntities]
	}
	before := requests()
	for line := range r.log(100, 200) {
		want[line] = true
	}
	p = r.start(plain(), nil, r.args("--index", "off", "--watch-interval", "1s", r.glob())...)
	await.Until(t, patience, "all lines are stored", func() bool { return r.found() == 200 })
	p.signal(t, os.Interrupt)
	p.end(t, patience)
	if p.status() != 0 || !strings.Contains(p.output(), "entities that waited for it are dropped") {
		t.Errorf("status %d: %s", p.status(), p.tail())
	}
	if now := requests(); now != before {
		t.Errorf("%d requests to tables", now-before)
	}
	if out := r.must(t, "shipper", "check", "--index", "off", "--service", "crash", "--buffer-dir", r.buffer, r.glob()); strings.Contains(string(out), "index") || requests() != before {
		t.Errorf("check: %s", out)
	}
	if n := r.unindexed(); n != 0 {
		t.Errorf("%d entities wait", n)
	}
	r.stored(len(want))
	r.proxy.SetRules()
	if res := r.command(t, nil, "shipper", "verify"); res.status != 3 {
		t.Errorf("verify: status %d\n%s", res.status, res.out)
	}
	r.must(t, "shipper", "reindex")
	r.must(t, "shipper", "verify")
	r.check(want)
}
