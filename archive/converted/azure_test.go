package converted_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/heap"
	"logstow/internal/test/testrand"
	"logstow/layout"
	"logstow/store"
)

// resourceLine is a record of Azure Monitor.
func resourceLine(t testing.TB, rnd *rand.Rand, at time.Time, category string) []byte {
	one := map[string]any{
		"time": at.Format("2006-01-02T15:04:05.9999999Z"), "resourceId": "/SUBSCRIPTIONS/A/RESOURCEGROUPS/B/PROVIDERS/MICROSOFT.WEB/SITES/SHOP" + strconv.Itoa(rnd.IntN(3)),
		"category": category, "operationName": "Read", "durationMs": rnd.IntN(900),
	}
	switch rnd.IntN(5) {
	case 0:
		one["level"] = []string{"Informational", "Warning", "Error", "Critical", "Metadata"}[rnd.IntN(5)]
	case 1:
		one["Level"] = 1 + rnd.IntN(5)
	case 2:
		one["properties"] = string(marshal(t, map[string]any{"statusCode": rnd.IntN(600), "log": string(marshal(t, map[string]any{"verb": "get", "n": []int{1, 2}}))}))
	case 3:
		one["properties"] = map[string]any{"text": "tab\there, {not json}", "list": "[1,2"}
	}
	return marshal(t, one)
}

// resourceName is the name of an hour's blob.
func resourceName(resource string, at time.Time) string {
	return "resourceId=/SUBSCRIPTIONS/A/RESOURCEGROUPS/B/PROVIDERS/MICROSOFT.WEB/SITES/" + resource + at.Format("/y=2006/m=01/d=02/h=15/m=00/") + "PT1H.json"
}

// levels are the levels of names and numbers, as the schema has them.
func levels() map[string]string {
	return map[string]string{
		"Informational": "INFO", "Warning": "WARN", "Error": "ERROR", "Critical": "FATAL", "1": "FATAL", "2": "ERROR", "3": "WARN", "4": "INFO", "5": "TRACE",
	}
}

// unfolded replaces texts that are JSON objects or arrays by these.
func unfolded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = unfolded(v[name])
		}
	case []any:
		for i := range v {
			v[i] = unfolded(v[i])
		}
	case string:
		var inner any
		if in := json.NewDecoder(strings.NewReader(v)); strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
			in.UseNumber()
			if json.Valid([]byte(v)) && in.Decode(&inner) == nil {
				return unfolded(inner)
			}
		}
	}
	return v
}

// readResource reads a blob of Azure Monitor.
func readResource(service string, from, to time.Time) func(string, []byte) []row {
	return func(name string, body []byte) (all []row) {
		var y, m, d, h, minute int
		at := strings.Index(name, "/y=")
		if at < 0 {
			return nil
		}
		if n, _ := fmt.Sscanf(name[at:], "/y=%d/m=%d/d=%d/h=%d/m=%d/", &y, &m, &d, &h, &minute); n != 5 || h > 23 {
			return nil
		}
		start := time.Date(y, time.Month(m), d, h, 0, 0, 0, time.UTC)
		if !start.Before(to) || !start.Add(time.Hour).After(from) {
			return nil
		}
		found, others := objects(plain(body))
		for _, one := range found {
			level := levels()[fmt.Sprint(one["level"])]
			if level == "" {
				level = levels()[fmt.Sprint(one["Level"])]
			}
			if level == "" {
				level = "-"
			}
			id := strings.Split(strings.ToLower(fmt.Sprint(one["resourceId"])), "/")
			text, _ := json.Marshal(unfolded(one))
			all = append(all, row{Time: instant(one["time"]), Level: level, Service: service, Source: strings.Join(id[len(id)-2:], "/"), Message: string(text)})
		}
		for _, text := range others { // the time stands before what is missing
			_, rest, _ := strings.Cut(text, `"time":"`)
			when, _, _ := strings.Cut(rest, `"`)
			parts := strings.Split(strings.ToLower(name[:at]), "/")
			all = append(all, row{Time: instant(when), Level: "-", Service: service, Source: strings.Join(parts[len(parts)-2:], "/"), Message: text})
		}
		return all
	}
}

func TestResourceLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.opts.Container = "insights-logs-appservicehttplogs"
	for h := range 48 {
		for i, resource := range []string{"SHOP", "CART"} {
			at := day().Add(time.Duration(h) * time.Hour)
			var text []byte
			newline := []string{"\n", "\r\n"}[w.rnd.IntN(2)]
			for range w.rnd.IntN(30) {
				event := at.Add(-time.Duration(w.rnd.IntN(5)-1) * 45 * time.Minute / 2).Add(time.Duration(w.rnd.IntN(1e9)))
				text = append(append(text, resourceLine(t, w.rnd, event, "AppServiceHTTPLogs")...), newline...)
			}
			switch kind := (h + i) % 8; {
			case kind == 1:
				text = nil
			case kind == 2 && len(text) > 0:
				text = append(text, fmt.Sprintf(`{"time":"%s","category":"x","properties":{"a":"tru`, at.Add(time.Minute).Format(time.RFC3339))...)
			case kind == 3:
				text = append([]byte("["), append(bytes.TrimSuffix(bytes.ReplaceAll(text, []byte(newline), []byte(",\n")), []byte(",\n")), ']')...)
			case kind == 4:
				half := bytes.IndexByte(text, '\n') + 1
				text = gzipped(t, text[:half], text[half:])
			case kind == 5:
				text = append([]byte("\xef\xbb\xbf"), text...)
			case kind == 6:
				text = bytes.TrimRight(text, "\r\n")
			}
			w.write(resourceName(resource, at), at.Add(time.Hour), text)
		}
	}
	w.write("resourceId=/A/y=2026/m=11/d=27/h=99/m=00/PT1H.json", day(), []byte("{}\n"))
	w.write("notes.txt", day(), []byte("no logs\n"))
	for _, hours := range [][2]int{{15, 16}, {0, 48}, {23, 26}, {47, 48}} {
		from, to := day().Add(time.Duration(hours[0])*time.Hour), day().Add(time.Duration(hours[1])*time.Hour)
		for _, slack := range []time.Duration{-1, time.Hour, 3 * time.Hour} {
			end := to.Add(max(slack, 0))
			w.check(parse(t, "azure", layout.Options{Slack: slack}), from, to, readResource("appservicehttplogs", from, end), 0)
		}
	}
	var mu sync.Mutex
	var read []string
	w.wrap = func(r store.BlobReader) store.BlobReader {
		return watched{r, func(name string) {
			mu.Lock()
			defer mu.Unlock()
			read = append(read, name)
		}}
	}
	from := day().Add(15 * time.Hour)
	got := w.ask(parse(t, "azure", layout.Options{}), from, from.Add(time.Hour))
	if len(read) == 0 || slices.ContainsFunc(read, func(name string) bool { return !strings.Contains(name, "h=15") && !strings.Contains(name, "h=16") }) {
		t.Errorf("an hour read %q", read)
	}
	if got.report.Requests.Get != int64(len(read)) || got.report.Requests.List == 0 {
		t.Errorf("requests %+v, want %d reads", got.report.Requests, len(read))
	}
}

// Blobs of a Log Analytics export are of five minutes.
func TestExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.opts.Container = "am-syslog"
	for i := range 36 {
		at := day().Add(time.Duration(i) * 5 * time.Minute)
		suffix := []string{"", "_1"}[w.rnd.IntN(2)]
		text := fmt.Appendf(nil, `{"TimeGenerated":"%s","_ResourceId":"/subscriptions/a/b/VM%d","SeverityLevel":"warning","SyslogMessage":"m %d","Type":"Syslog"}`+"\n", at.Add(time.Minute).Format(time.RFC3339Nano), i%2, i)
		w.write("WorkspaceResourceId=/subscriptions/a/workspaces/w/"+at.Format("y=2006/m=01/d=02/h=15/m=04/")+"PT05M"+suffix+".json", at, text)
	}
	from := day().Add(time.Hour)
	to := from.Add(10 * time.Minute)
	w.check(parse(t, "azure", layout.Options{Slack: -1}), from, to, func(name string, body []byte) (all []row) {
		found, _ := objects(body)
		for _, one := range found {
			text, _ := json.Marshal(one)
			all = append(all, row{Time: instant(one["TimeGenerated"]), Level: "WARN", Service: "syslog", Source: strings.ToLower(fmt.Sprint(one["_ResourceId"])[len("/subscriptions/a/"):]), Message: string(text)})
		}
		return all
	}, 0)
}

// flowText is a blob of flow logs, of network security groups or of virtual networks.
func flowText(t testing.TB, rnd *rand.Rand, at time.Time, minutes int, virtual bool) []byte {
	records := []any{}
	for m := range minutes {
		then := at.Add(time.Duration(m) * time.Minute)
		if minutes > 60 {
			then = at.Add(time.Duration(m) * time.Hour / 20000).Truncate(time.Millisecond)
		}
		tuples := []any{}
		for i := range rnd.IntN(4) {
			when := then.Add(time.Duration(i) * time.Second)
			if virtual {
				tuples = append(tuples, fmt.Sprintf("%d,10.0.0.%d,192.0.2.1,%d,443,6,O,%s,NX,%d,1,2,3", when.UnixMilli(), i, 1000+m, []string{"B", "C", "E", "D"}[i], rnd.IntN(9)))
			} else {
				tuples = append(tuples, fmt.Sprintf("%d,10.0.0.%d,192.0.2.1,%d,443,T,I,A,B,,,,", when.Unix(), i, 1000+m))
			}
		}
		one := map[string]any{"time": then.Format(time.RFC3339Nano), "macAddress": "000D3A"}
		if virtual {
			one["targetResourceID"] = "/subscriptions/a/virtualNetworks/Net"
			one["flowRecords"] = map[string]any{"flows": []any{map[string]any{"aclID": "acl", "flowGroups": []any{map[string]any{"rule": "allow", "flowTuples": tuples}}}}}
		} else {
			one["resourceId"] = "/SUBSCRIPTIONS/A/NETWORKSECURITYGROUPS/NSG"
			one["properties"] = map[string]any{"Version": 2, "flows": []any{map[string]any{"rule": "allow", "flows": []any{map[string]any{"mac": "000D3A", "flowTuples": tuples}}}}}
		}
		records = append(records, one)
	}
	return marshal(t, map[string]any{"records": records})
}

// readFlows reads a blob of flow logs.
func readFlows(service string, virtual bool) func(string, []byte) []row {
	return func(_ string, body []byte) (all []row) {
		var file struct {
			Records []struct {
				TargetResourceID, ResourceID string
				FlowRecords                  struct {
					Flows []struct {
						FlowGroups []struct{ FlowTuples []string }
					}
				}
				Properties struct {
					Flows []struct {
						Flows []struct{ FlowTuples []string }
					}
				}
			}
		}
		if json.Unmarshal(body, &file) != nil {
			return nil
		}
		for _, r := range file.Records {
			var tuples []string
			for _, f := range r.FlowRecords.Flows {
				for _, g := range f.FlowGroups {
					tuples = append(tuples, g.FlowTuples...)
				}
			}
			for _, f := range r.Properties.Flows {
				for _, g := range f.Flows {
					tuples = append(tuples, g.FlowTuples...)
				}
			}
			for _, tuple := range tuples {
				f := strings.Split(tuple, ",")
				number := func(s string) json.Number { return json.Number(s) }
				n, _ := strconv.ParseInt(f[0], 10, 64)
				one := map[string]any{"srcIp": f[1], "dstIp": f[2], "srcPort": number(f[3]), "dstPort": number(f[4]), "protocol": "tcp", "rule": "allow", "macAddress": "000D3A"}
				at, source := n*1e9, "networksecuritygroups/nsg"
				if virtual {
					at, source = n*1e6, "virtualnetworks/net"
					one["direction"], one["encryption"], one["aclID"] = "outbound", "NX", "acl"
					one["state"] = map[string]string{"B": "begin", "C": "continuing", "E": "end", "D": "denied"}[f[7]]
					one["packetsSent"], one["bytesSent"], one["packetsReceived"], one["bytesReceived"] = number(f[9]), number(f[10]), number(f[11]), number(f[12])
				} else {
					one["direction"], one["decision"], one["state"], one["mac"] = "inbound", "allowed", "begin", "000D3A"
				}
				text, _ := json.Marshal(one)
				all = append(all, row{Time: at, Level: "-", Service: service, Source: source, Message: string(text)})
			}
		}
		return all
	}
}

func flowName(at time.Time, virtual bool) string {
	if virtual {
		return at.Format("flowLogResourceID=/A/NW/y=2006/m=01/d=02/h=15/m=00/macAddress=000D3A/") + "PT1H.json"
	}
	return at.Format("resourceId=/SUBSCRIPTIONS/A/NETWORKSECURITYGROUPS/NSG/y=2006/m=01/d=02/h=15/m=00/macAddress=000D3A/") + "PT1H.json"
}

func TestFlowLogs(t *testing.T) {
	t.Parallel()
	for _, virtual := range []bool{false, true} {
		t.Run(fmt.Sprint(virtual), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, testrand.New(t))
			w.opts.Container = "insights-logs-flow"
			for h := range 32 {
				at := day().Add(time.Duration(h) * time.Hour)
				w.write(flowName(at, virtual), at, flowText(t, w.rnd, at, w.rnd.IntN(20), virtual))
			}
			w.check(parse(t, "azure", layout.Options{}), day().Add(3*time.Hour), day().Add(20*time.Hour), readFlows("flow", virtual), 0)
		})
	}
}

// A blob that is rewritten while it is read is read in one version; one that grows is read to its listed length.
func TestBlobsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	at := day().Add(15 * time.Hour)
	var mu sync.Mutex
	reads := map[string]int{}
	change := func(string) {}
	w.wrap = func(r store.BlobReader) store.BlobReader {
		return watched{r, func(name string) {
			mu.Lock()
			defer mu.Unlock()
			reads[name]++
			change(name)
		}}
	}
	for minutes := 1000; minutes <= 6000; minutes += 5000 { // one read, several reads
		name := flowName(at, true)
		before, after := flowText(t, w.rnd, at, minutes, true), flowText(t, w.rnd, at, minutes+10, true)
		w.write(name, at, before)
		clear(reads)
		changeAt := min(len(before)/(1<<20)+1, 2)
		change = func(name string) {
			if reads[name] == changeAt {
				w.write(name, at.Add(time.Second), after)
			}
		}
		got := w.ask(parse(t, "azure", layout.Options{}), day(), day().AddDate(1, 0, 0))
		want := sortRows(readFlows("archive", true)("", after))
		if len(got.report.Problems) > 0 || !slices.Equal(got.rows, want) {
			t.Errorf("%d minutes: %d records, want %d, problems %v:\n%.3000s", minutes, len(got.rows), len(want), got.report.Problems, gocmp.Diff(want, got.rows))
		}
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "flowLogResourceID=")); err != nil {
		t.Fatal(err)
	}
	name := resourceName("SHOP", at)
	line := func(i int) []byte {
		return fmt.Appendf(nil, `{"time":"%s","resourceId":"/A/B","n":%d}`+"\n", at.Add(time.Duration(i)*time.Millisecond).Format(time.RFC3339Nano), i)
	}
	var text []byte
	for i := range 20000 {
		text = append(text, line(i)...)
	}
	w.write(name, at, text)
	change = func(name string) {
		if file, err := os.OpenFile(filepath.Join(w.dir, name), os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = file.Write(line(20000))
			_ = file.Close()
		}
	}
	got := w.ask(parse(t, "azure", layout.Options{}), day(), day().AddDate(0, 0, 2))
	if len(got.rows) != 20000 || len(got.report.Problems) > 0 {
		t.Errorf("%d records of a blob that grows, want 20000, problems %v", len(got.rows), got.report.Problems)
	}
}

// App Service writes logs of applications as CSV, and of requests in W3C's format.
func TestAppService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for h := range 24 {
		at := day().Add(time.Duration(h) * time.Hour)
		event := at.Add(10 * time.Minute)
		w.write(at.Format("shop/2006/01/02/15/")+"ab12-4.applicationLog.csv", at, fmt.Appendf(nil,
			"date,level,applicationName,instanceId,eventTickCount,eventId,pid,tid,message,activityId\r\n%s,Error,shop,ab12,1,0,4,5,\"it failed, twice\",\r\n", event.Format("2006-01-02T15:04:05")))
		w.write(at.Format("web/2006/01/02/15/")+"ab12.log", at, fmt.Appendf(nil,
			"#Fields: date time s-sitename cs-method cs-uri-stem sc-status\n%s web GET /cart 500\n", event.Format("2006-01-02 15:04:05")))
	}
	w.check(parse(t, "azure", layout.Options{}), day().Add(3*time.Hour), day().Add(9*time.Hour), func(name string, body []byte) (all []row) {
		for line := range strings.Lines(string(body)) {
			line = strings.TrimRight(line, "\n")
			service, rest, _ := strings.Cut(name, "/")
			if rest < "2026/11/27/03" {
				continue
			}
			at, err := time.Parse("2006-01-02T15:04:05", line[:min(19, len(line))])
			level := "ERROR"
			if err != nil {
				at, err = time.Parse(time.DateTime, line[:min(19, len(line))])
			}
			if err != nil { // a header is of the end of the hour, and found in it
				var y, m, d, h int
				_, _ = fmt.Sscanf(name[strings.Index(name, "/"):], "/%d/%d/%d/%d/", &y, &m, &d, &h)
				at, level = time.Date(y, time.Month(m), d, h+1, 0, 0, -1, time.UTC), "-"
			}
			all = append(all, row{at.UnixNano(), level, service, name, "", line})
		}
		return all
	}, 0)
}

func TestLargeBlob(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it writes 500 MB")
	w := newWorld(t, testrand.New(t))
	at := day().Add(15 * time.Hour)
	path := filepath.Join(w.dir, filepath.FromSlash(resourceName("SHOP", at)))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n, size := 0, 0
	for size < 500<<20 {
		var text []byte
		for range 10000 {
			text = fmt.Appendf(text, `{"time":"%s","resourceId":"/A/B","n":%d,"text":"%0128d"}`+"\n", at.Add(time.Duration(n)*time.Microsecond).Format(time.RFC3339Nano), n, w.rnd.Uint64())
			n++
		}
		size += len(text)
		if _, err := file.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	before := heap.Live()
	var most int64
	w.wrap = func(r store.BlobReader) store.BlobReader {
		return watched{r, func(string) { most = max(most, heap.Live()) }}
	}
	got := w.count(parse(t, "azure", layout.Options{}), at, at.Add(time.Hour))
	if got != uint64(n) {
		t.Errorf("%d records, want %d", got, n)
	}
	if most-before > 128<<20 {
		t.Errorf("%d MiB of memory", (most-before)>>20)
	}
	t.Logf("%d records, %d MiB of memory", n, (most-before)>>20)
}
