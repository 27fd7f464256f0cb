package loki

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"logstow/message"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0":                                   0,
		"1":                                   1e9,
		"1772622000":                          1772622000e9, // ten digits: seconds
		"17726220001":                         17726220001,  // more: nanoseconds
		"1772622000000000001":                 1772622000000000001,
		"1772622000.5":                        1772622000500000000,
		"1772622000.123456789":                1772622000123456789,
		"1772622000.1234567899":               1772622000123456789,
		"1772622000.":                         1772622000e9,
		"1.7726220e9":                         1772622000e9,
		"2026-03-04T11:00:00Z":                1772622000e9,
		"2026-03-04T12:00:00.000000001+01:00": 1772622000e9 + 1,
		"9223372036854775807":                 math.MaxInt64,
		"4000000000":                          4000000000e9,
		"":                                    -1,
		"now":                                 -1,
		"-1":                                  -1,
		"-0.5":                                -1,
		"-17726220001":                        -1,
		"9223372036.9":                        -1,
		"1.5e300":                             -1,
		"NaN":                                 -1,
		"9223372036854775808":                 -1,
		"1969-12-31T23:59:59Z":                -1,
		"9999-01-01T00:00:00Z":                -1,
		"2026-03-04":                          -1,
		"0x10":                                -1,
		"1_0.5":                               -1,
		"+5.5":                                5500000000,
	} {
		got, err := parseTime(text)
		if (err != nil) != (want == -1) || err == nil && got != want {
			t.Errorf("parseTime(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const bad = math.MinInt64
	for text, want := range map[string]time.Duration{
		"15":                    15 * time.Second,
		"15.000000":             15 * time.Second,
		"0.25":                  250 * time.Millisecond,
		"1e3":                   1000 * time.Second,
		"-1":                    -time.Second,
		"10s":                   10 * time.Second,
		"2000ms":                2 * time.Second,
		"1h30m":                 90 * time.Minute,
		"1y2w3d":                (365 + 14 + 3) * 24 * time.Hour,
		"0s":                    0,
		"1m1ms":                 time.Minute + time.Millisecond,
		"":                      bad,
		"s":                     bad,
		"10":                    10 * time.Second,
		"10s5m":                 bad,
		"1s1s":                  bad,
		"1.5h":                  bad,
		"5 m":                   bad,
		"-5m":                   bad,
		"5us":                   bad,
		"NaN":                   bad,
		"Inf":                   bad,
		"1e300":                 bad,
		"300y":                  bad,
		"292y52w":               bad,
		"99999999999999999999s": bad,
	} {
		got, err := parseDuration(text)
		if (err != nil) != (want == bad) || err == nil && got != want {
			t.Errorf("parseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestDefaultStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, length, want time.Duration }{
		{0, 0, time.Second},
		{0, 250 * time.Second, time.Second},
		{5, 500*time.Second - 1, time.Second},
		{5, 500 * time.Second, 2 * time.Second},
		{0, time.Hour, 14 * time.Second},
		{0, 24 * time.Hour, 345 * time.Second},
		{0, math.MaxInt64, 36893488 * time.Second},
	} {
		if got := defaultStep(int64(c.from), int64(c.from)+int64(c.length)); got != c.want {
			t.Errorf("a range of %v has the step %v, want %v", c.length, got, c.want)
		}
	}
}

func TestAppendSeconds(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]string{
		0:                   "0",
		1772622000e9:        "1772622000",
		1772622000123456789: "1772622000.123",
		1772622000100999999: "1772622000.1",
		math.MaxInt64:       "9223372036.854",
	} {
		if got := string(appendSeconds(nil, ns)); got != want {
			t.Errorf("%d is written as %s, want %s", ns, got, want)
		}
	}
}

// Parameters of any text give an error or values in their bounds.
func FuzzParams(f *testing.F) {
	f.Add("start=1&end=2.5&step=10s&limit=5&direction=FORWARD&since=1h&interval=1m&delay_for=3")
	f.Add("start=2026-03-04T11:00:00Z&end=9223372036854775807&step=1ms&limit=-1")
	f.Add("start=0&end=1e9&step=1e-9&since=292y&direction=x;y&%zz")
	f.Add("start=NaN&end=.&step=.&since=-0&limit=99999999999999999999")
	f.Fuzz(func(t *testing.T, raw string) {
		q := &request{
			api: &API{opts: Options{Limits: DefaultLimits()}}, w: httptest.NewRecorder(), now: time.Unix(1772625600, 0),
			http: httptest.NewRequest("POST", "/", strings.NewReader(raw)),
		}
		q.http.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if err := q.parseForm(); err != nil {
			return
		}
		if q.bounds(querySince); q.bad == nil {
			if q.from < 0 || q.to < q.from {
				t.Errorf("range %d to %d", q.from, q.to)
			}
			if step := q.step(); q.bad == nil && (step < time.Millisecond || (q.to-q.from)/int64(step) > 11_000) {
				t.Errorf("step %v of %v", step, time.Duration(q.to-q.from))
			}
		}
		q.bad = nil
		if limit := q.entries(); q.bad == nil && (limit < 1 || limit > 5000) {
			t.Errorf("limit %d", limit)
		}
		q.backward()
		q.delayFor()
		q.duration("interval", 0)
	})
}

// Times and durations that are parsed are those that the standard library finds, where it has the form.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"1772622000", "1772622000.5", "2026-03-04T11:00:00.5Z", "1h30m", "2000ms", "15.000000", "-1e-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseTime(s)
		if want, stdErr := time.Parse(time.RFC3339Nano, s); stdErr == nil && err == nil && at != want.UnixNano() {
			t.Errorf("%q is %d, want %d", s, at, want.UnixNano())
		}
		if err == nil && at < 0 {
			t.Errorf("%q is %d", s, at)
		}
		d, err := parseDuration(s)
		if want, stdErr := time.ParseDuration(s); stdErr == nil && err == nil && d != want && s != "0" && s != "-0" && s != "+0" {
			t.Errorf("%q is %v, want %v", s, d, want)
		}
	})
}

// Strings are valid JSON and decode to what they were, as UTF-8.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x1f\x7f\"\\/\n\r\t", "é\u2028\U0001f600", "\xff\xc3", "a\xe2\x80", "\ufffd", "a\ufffd\xffb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := message.AppendString([]byte("x"), s)[1:]
		if string(message.AppendString(nil, []byte(s))) != string(got) {
			t.Error("bytes and strings differ")
		}
		var back, want string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q is written as %s: %v", s, got, err)
		}
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &want); err != nil || back != want {
			t.Errorf("%q comes back as %q, want %q", s, back, want)
		}
	})
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "deflate, GZIP": true, "gzip;q=1.0, *": true, "gzip; q=0.5": true,
		"gzip;q=0": false, "gzip; q=0.000": false, "br": false, "x-gzip": false, "identity": false,
	} {
		r := httptest.NewRequest("GET", "/?"+url.Values{}.Encode(), nil)
		r.Header.Set("Accept-Encoding", header)
		if got := acceptsGzip(r); got != want {
			t.Errorf("%q is accepted as gzip: %v", header, got)
		}
	}
}
