package recognize_test

import (
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/message/parse"
	"logstow/record/recognize"
)

// seeds are lines that lead the fuzzer into each layout.
func seeds() []string {
	return []string{
		"2026-11-20T15:04:05.123456789Z ERROR x", "2026/11/20 15:04:05 [error] 12#0: x", "20261120-15:04:05:606|x",
		`1.2.3.4 - - [20/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 1`, "[Fri Nov 20 15:04:05.5 2026] [core:error] x",
		"Nov 20 15:04:05 host app[1]: x", "<165>1 2026-11-20T15:04:05Z host app - - - x", "11-20 15:04:05.8  1  2 D tag: x",
		"261120 150405 148 INFO x", "26/11/20 15:04:05 INFO x", "I1120 15:04:05.1 1 a.go:1] x", "1795187045.5 x", "Nov 20, 2026 3:04:05 PM x",
		`{"a":{"time":"x"},"time":"2026-11-20T15:04:05Z","level":30}`, `{"t":{"$date":"2026-11-20T15:04:05Z"},"s":"I"}`,
		`{"timestamp":{"seconds":1795187045,"nanos":5},"log":{"level":"info"}}`, `level=info ts=1795187045 msg="a b"`,
		"web-1  | \x1b[2m2026-11-20T15:04:05Z\x1b[0m INFO x", "type=A msg=audit(1795187045.1:2): x", "Feb 29 00:00:00 a b: x",
		"name - root - INFO - x", "I, [2026-11-20T15:04:05 #1]  INFO -- : x", "2026-11-20 15:04:05, Info   CBS x",
		"[15:04:05 ERR] x", "1234:M 20 Nov 2026 15:04:05.123 # x", "Traceback (most recent call last):",
		"A 1795187045 2026.11.20 R0 2026-11-20-15.04.05.363779 R0 RAS KERNEL FATAL x",
		"[2026-11-20T15:04:05.123Z] \"GET / HTTP/1.1\" 503 UF", "https 2026-11-20T15:04:05.1Z app/lb/50 1.2.3.4:5 - 0 0 0 502 - 1 2",
		`Nov 20 15:04:05 lb haproxy[1]: 10.0.1.2:3 [20/Nov/2026:15:04:04.655] in a/b 1/2/3/4/5 503 2`,
		`{"version":"1.1","host":"a","short_message":"x","level":3}`,
		`{"log":"{\"level\":\"warn\",\"t\":{\"$date\":\"2026-11-20T15:04:05Z\"}}","stream":"a"}`,
		`{"start_time":"2026-11-20T15:04:05.123Z","started_at":1795187045123}`, "[2026.11.20-15.04.05:123][  0]LogTemp: Warning: x",
		"<Event x='1'><Level>2</Level><TimeCreated SystemTime='2026-11-20T15:04:05.1234567Z'/>",
		"2026年11月20日(金) 午後3時4分5秒 ERROR x", "2026. 5. 2. 오후 3:04:05 x", "20-déc.-2025 15:04:05.1 GRAVE [x] y", "11月 20, 2026 3:04:05 下午 x",
		"20-NOV-26 03.04.05.1 PM +01:00 x", "11/20/2026, 3:04:05\u202fPM x", "M  Fri 20 Nov 15:04:05 UTC 2026", "E[2026-11-20|15.04.05] x",
		`{"time":"2026-11-20T15:04:05.123Z","level":"INFO","msg":"x"}`, `{"level":"warn","a":1,"ts":"2026-11-20 15:04:05,1"}`,
	}
}

// What a line says does not depend on the lines before it, but for the time that
// a line without one inherits.
func FuzzHistory(f *testing.F) {
	all := seeds()
	for i, line := range all {
		f.Add([]byte(line), []byte(all[(i+1)%len(all)]), reference().UnixNano())
	}
	f.Add([]byte("Feb 29 00:00:00 x"), []byte("1"), int64(0))
	zone := time.FixedZone("odd", 5*3600+1800)
	auto := parse.Auto()
	f.Fuzz(func(t *testing.T, before, line []byte, at int64) {
		for _, opts := range []recognize.Options{{Parser: auto}, {Zone: zone, Parser: auto}} {
			r := recognize.New(opts)
			first := r.Stamp(before, at, at)
			got := r.Stamp(line, at, at)
			want := recognize.New(opts).Stamp(line, at, at)
			if !want.Found && first.Found {
				want.Time = first.Time
			}
			if got != want {
				t.Fatalf("after %q, %q is %+v, alone %+v", before, line, got, want)
			}
			if got.Found && got.Rejected == recognize.Accepted && (got.Time < 631152000e9 || at < 9e18 && got.Time > at+int64(recognize.DefaultMaxAhead)) {
				t.Fatalf("%q: time out of bounds: %+v", line, got)
			}
		}
	})
}

// One Recognizer over many lines of all formats, mixed and damaged, says of each
// what a fresh one says.
func TestHistory(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		zone = time.FixedZone("fixed", -5*3600)
	}
	opts := recognize.Options{Zone: zone, Parser: parse.Auto()}
	r := recognize.New(opts)
	all := seeds()
	at := reference().UnixNano()
	inherited, hasInherited := int64(0), false
	for range 200_000 {
		line := []byte(all[rnd.IntN(len(all))])
		for range rnd.IntN(3) {
			const bytes = "0123456789:-/ .,[]{}\"TZ"
			line[rnd.IntN(len(line))] = bytes[rnd.IntN(len(bytes))]
		}
		ref := at - rnd.Int64N(int64(2000*24*time.Hour))
		got := r.Stamp(line, at, ref)
		want := recognize.New(opts).Stamp(line, at, ref)
		if !want.Found && hasInherited {
			want.Time = inherited
		}
		if got != want {
			t.Fatalf("%q is %+v, alone %+v", line, got, want)
		}
		if got.Found {
			inherited, hasInherited = got.Time, true
		}
	}
}

// So it is of damaged lines behind one whose shape the Recognizer knows.
func TestHistoryOfShapes(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	opts := recognize.Options{Parser: parse.Auto()}
	at := reference().UnixNano()
	for _, line := range []string{
		`{"time":"2026-11-20T15:04:05.123456Z","level":"INFO","msg":"x"}`,
		`{"level":"warn","caller":"a.go:1","ts":"2026-11-20T15:04:05.123+0100","msg":"x"}`,
		`{ "@t" : "2026-11-20T15:04:05Z" , "@l" : "Warning", "@m": "x"}`,
		`{"msg":"x","time":"2026-11-20 15:04:05 UTC","severity":"E","level":"debug"}`,
		`{"body":"ERROR x","levelno":"7","level":"fatal","message":"WARN y","date":"2026-11-20 15:04:05","time":"x"}`,
		`web-1  | {"time":"2026-11-20T15:04:05-08","log":"INFO x","level":"error"}`,
		`{"log":"{\"time\":\"2026-11-20T15:04:05,5\",\"level\":\"info\"}\n","stream":"stdout"}`,
	} {
		r := recognize.New(opts)
		for range 50_000 {
			first := r.Stamp([]byte(line), at, at)
			damaged := []byte(line)
			for range rnd.IntN(4) {
				const bytes = `0123456789:-+/ .,[]{}"\TZUCIE`
				damaged[rnd.IntN(len(line))] = bytes[rnd.IntN(len(bytes))]
			}
			got, want := r.Stamp(damaged, at, at), recognize.New(opts).Stamp(damaged, at, at)
			if !want.Found {
				want.Time = first.Time
			}
			if got != want {
				t.Fatalf("after %q, %q is %+v, alone %+v", line, damaged, got, want)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	r := recognize.New(recognize.Options{})
	at := reference().UnixNano()
	for _, text := range seeds() {
		line := []byte(text)
		if n := testing.AllocsPerRun(10, func() { r.Stamp(line, at, at) }); n != 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}

func BenchmarkStamp(b *testing.B) {
	at := reference().UnixNano()
	for name, line := range map[string]string{
		"JSON/front":    `{"time":"2026-11-20T15:04:05.123456789Z","level":"INFO","msg":"request served","path":"/api/v1/things","status":200}`,
		"JSON/pino":     `{"level":30,"time":1795187045123,"pid":12,"hostname":"web-1","msg":"request served","path":"/api/v1/things"}`,
		"JSON/end":      `{"msg":"request served","path":"/api/v1/things","status":200,"user":{"id":5,"name":"x"},"level":"info","ts":1795187045.123}`,
		"JSON/no-level": `{"time":"2026-11-20T15:04:05.123Z","msg":"request served","path":"/api/v1/things","status":200,"n":1,"m":2}`,
		"JSON/wrapped":  `{"log":"{\"level\":\"info\",\"time\":\"2026-11-20T15:04:05Z\",\"msg\":\"request served\"}\n","stream":"stdout"}`,
		"Logfmt":        `time="2026-11-20T15:04:05Z" level=info msg="request served" path=/api/v1/things`,
		"Access":        `10.11.10.1 - - [20/Nov/2026:15:04:05 +0000] "GET /v2/servers/detail HTTP/1.1" 200 1893`,
		"Nginx":         "2026/11/20 15:04:05 [error] 1234#0: *1 open() failed",
		"Epoch":         "1795187045.123 something happened",
		"Text":          "2026-11-20T15:04:05.123Z request served by host [10.0.0.1] in 5 ms",
		"Envoy":         `[2026-11-20T15:04:05.123Z] "GET /v1/things HTTP/1.1" 200 - 0 1893 12 11 "-" "curl" "id" "host" "10.0.0.1:80"`,
		"NoTime":        "\tat com.example.Main.main(Main.java:12)",
		"Klog":          "I1120 15:04:05.123456    1234 file.go:12] hello",
		"RFC5424":       "<165>1 2026-11-20T15:04:05.003Z host app 8710 ID47 - hello",
	} {
		b.Run(name, func(b *testing.B) {
			r := recognize.New(recognize.Options{})
			text := []byte(line)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Stamp(text, at, at)
			}
		})
	}
}

func BenchmarkRealLogs(b *testing.B) {
	at := reference().UnixNano()
	for _, real := range realLogs() {
		b.Run(real.file, func(b *testing.B) {
			lines := readLines(b, real.file)
			size := 0
			for _, line := range lines {
				size += len(line)
			}
			r := recognize.New(recognize.Options{})
			b.SetBytes(int64(size / len(lines)))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.Stamp(lines[i], at, at)
				if i++; i == len(lines) {
					i = 0
				}
			}
		})
	}
}
