package recognize_test

import (
	"testing"
	"time"

	"logstow/record"
	"logstow/record/recognize"
)

// The reference of all tables: when lines were read.
func reference() time.Time { return time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC) }

func stamp(line string) recognize.Stamp {
	at := reference().UnixNano()
	return recognize.New(recognize.Options{}).Stamp([]byte(line), at, at)
}

// check compares the stamp of a line with a time in RFC 3339, "" for none.
func check(t *testing.T, line, want string, level record.Level) {
	t.Helper()
	s := stamp(line)
	got := ""
	if s.Found {
		got = time.Unix(0, s.Time).UTC().Format(time.RFC3339Nano)
	}
	if got != want || s.Level != level || s.Rejected != recognize.Accepted {
		t.Errorf("%s\n got %q %v %v\nwant %q %v", line, got, s.Level, s.Rejected, want, level)
	}
}

type lineCase struct {
	line, want string
	level      record.Level
}

func checkAll(t *testing.T, cases []lineCase) {
	t.Helper()
	for _, c := range cases {
		check(t, c.line, c.want, c.level)
	}
}

func TestISO(t *testing.T) {
	t.Parallel()
	const second = "2026-11-20T15:04:05Z"
	for _, text := range []string{
		"2026-11-20T15:04:05Z", "2026-11-20 15:04:05", "2026-11-20T15:04:05z", "2026-11-20t15:04:05",
		"2026-11-20_15:04:05", "2026-11-20\t15:04:05", "2026/11/20 15:04:05", "2026.11.20 15:04:05",
		"2026-11-20 15:04:05 UTC", "2026-11-20 15:04:05 GMT", "2026-11-20 15:04:05 +0000", "2026-11-20 15:04:05 +0000 UTC",
		"2026-11-20T16:04:05+01:00", "2026-11-20T16:04:05+0100", "2026-11-20T16:04:05+01", "2026-11-20 10:34:05-0430",
		"2026-11-20 10:04:05 -0500", "2026-11-20 10:04:05 -05:00", "2026-11-21T05:04:05+14:00",
		"20261120T150405Z", "20261120T150405", "20261120T160405+0100", "20261120-15:04:05", "20261120 15:04:05", "20261120-15:4:5",
		"26/11/20 15:04:05", "20.11.2026 15:04:05", "20/Nov/2026:15:04:05 +0000", "20/Nov/2026:10:04:05 -0500",
		"20-Nov-2026 15:04:05", "20 Nov 2026 15:04:05", "Fri, 20 Nov 2026 15:04:05 GMT", "Fri, 20 Nov 2026 16:04:05 +0100",
		"Fri Nov 20 15:04:05 2026", "Fri Nov 20 15:04:05 UTC 2026", "Nov 20 2026 15:04:05", "Nov 20, 2026 3:04:05 PM",
		"Nov 20 15:04:05", "Nov 20 15:04:05 2026", "Fri Nov 20 15:04:05", "11-20 15:04:05", "NOV 20 15:04:05",
		"261120 150405", "261120 15:04:05", "1795187045", "1795187045000", "1795187045000000", "1795187045000000000",
	} {
		for _, around := range [][2]string{{"", ""}, {"", " hello"}, {"[", "] hello"}, {"\"", "\",hello"}, {"", "\tx"}, {"[main] ", " x"}} {
			check(t, around[0]+text+around[1], second, record.None)
		}
	}
}

func TestFraction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-20 15:04:05.1":            "2026-11-20T15:04:05.1Z",
		"2026-11-20 15:04:05,12":           "2026-11-20T15:04:05.12Z",
		"2026-11-20 15:04:05:123":          "2026-11-20T15:04:05.123Z",
		"2026-11-20T15:04:05.1234567Z":     "2026-11-20T15:04:05.1234567Z",
		"2026-11-20T15:04:05.123456789Z":   "2026-11-20T15:04:05.123456789Z",
		"2026-11-20T15:04:05.1234567899Z":  "2026-11-20T15:04:05.123456789Z",
		"2026-11-20T16:04:05.000001+01:00": "2026-11-20T15:04:05.000001Z",
		"2026-11-20 15:04:05,999 +0000":    "2026-11-20T15:04:05.999Z",
		"20261120-15:04:05:606|x":          "2026-11-20T15:04:05.606Z",
		"20261120-15:04:05:6|x":            "2026-11-20T15:04:05.006Z",
		"20261120T150405.25Z":              "2026-11-20T15:04:05.25Z",
		"Nov 20 15:04:05.123456":           "2026-11-20T15:04:05.123456Z",
		"Fri Nov 20 15:04:05.123456 2026":  "2026-11-20T15:04:05.123456Z",
		"11-20 15:04:05.811":               "2026-11-20T15:04:05.811Z",
		"20-Nov-2026 15:04:05.811":         "2026-11-20T15:04:05.811Z",
		"1795187045.5":                     "2026-11-20T15:04:05.5Z",
		"1795187045.123456789":             "2026-11-20T15:04:05.123456789Z",
		"1795187045123.25":                 "2026-11-20T15:04:05.12325Z",
		"1795187045123456":                 "2026-11-20T15:04:05.123456Z",
		"1795187045123456789":              "2026-11-20T15:04:05.123456789Z",
	} {
		check(t, text, want, record.None)
		check(t, text+" x", want, record.None)
		check(t, "["+text+"] x", want, record.None)
	}
}

func TestLeapSecond(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"2016-12-31T23:59:60Z", "2016-12-31 23:59:60.5 x", "20161231T235960Z", "[31/Dec/2016:23:59:60 +0000]",
		"Sat Dec 31 23:59:60 2016", "2017-01-01T00:59:60,1+01:00", "Dec 31, 2016 11:59:60 PM",
	} {
		check(t, line, "2016-12-31T23:59:59.999999999Z", record.None)
	}
}

func TestNoTime(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", " ", "-", "[", "hello", "at 2026-11-20 15:04:05 it broke", "Deleted 2026-11-20T15:04:05Z", "Expires: 2026-11-20 15:04:05",
		"Error at 2026-11-20 15:04:05", "see file 2026-11-20 15:04:05", "the last-modified: 2026-11-20 15:04:05",
		"2026-11-20", "15:04:05", "2026-11-20 15:04x", "2026-11-20 15:4", "2026-11-20 15", "2026-13-20 15:04:05", "2026-11-31 15:04:05", "2026-11-20 24:00:00",
		"2026-11-20 15:60:05", "2026-11-20 15:04:61", "2026-11-20 15:04:055", "2026-11-20 15:04:05abc", "2026-11-20x15:04:05",
		"2026-11-20_15:04:05.log", "2026-11-20 15:04:05.123x", "2026-11-20T15:04:05+99:00", "2026-11-20T15:04:05Z0", "2023-02-29 00:00:00",
		"123456 bytes", "1234567890123456789012 x", "12345678901 x", "1795187045x", "1795187045.log", "01795187045 x",
		"app 1795187045 x", "host-1 1795187045 x", "host-1 261120 150405 x", "991332 256199 x", "261120 250000 x",
		"Jun 31 10:00:00 x", "Foo 14 10:00:00 x", "Jun 14 10:00 x", "June 14 10:00:00 x",
		"\tat com.example.Main(Main.java:12)", "    at 2026-11-20 15:04:05", "X1120 15:04:05.1 x", "I1320 15:04:05.1 x",
		`{"msg":"2026-11-20T15:04:05Z"}`, `{"msg":"\"time\":\"2026-11-20T15:04:05Z\""}`, `{"a":{"time":"2026-11-20T15:04:05Z"}}`,
		`{"a":["time","2026-11-20T15:04:05Z"]}`, `{"time":"soon"}`, `{"time":0.2477}`, `{"t":12}`, `{"time":null}`, `{"time":{"a":1}}`,
		`{"time":"2026-11-20T15:04:05Z and more"}`, `{"time`, `{"time":`, `{`, `{}`, `{"a" "b"}`, `{"time":"2026`, `{"time":-1795187045}`,
		`{"time":1795187045x}`, `{2026-11-20 15:04:05}`, `msg="time=2026-11-20T15:04:05Z"`, "time=12ms level=5 x", "a= b= c", "time=",
		`time="2026-11-20`, "foo time=2026-11-20T15:04:05Z",
	} {
		s := stamp(line)
		if s.Found || s.Time != reference().UnixNano() {
			t.Errorf("%q: found %v", line, time.Unix(0, s.Time).UTC())
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	read := reference().UnixNano()
	for line, want := range map[string]recognize.Reason{
		"1990-01-01 00:00:00 x":                 recognize.Accepted,
		"1989-12-31 23:59:59.999 x":             recognize.TooOld,
		"1970-01-01T00:00:00Z":                  recognize.TooOld,
		"0000-01-01T00:00:00Z":                  recognize.TooOld,
		"2026-11-22T03:00:00Z":                  recognize.Accepted,
		"2026-11-22T03:00:00.000000001Z":        recognize.TooFarAhead,
		"9999-12-31T23:59:59Z":                  recognize.TooFarAhead,
		`{"time":100000001,"level":"info"}`:     recognize.TooOld,
		`{"time":9223372036854775807,"a":1}`:    recognize.TooFarAhead,
		"2262-04-11T23:47:16.854775807Z x":      recognize.TooFarAhead,
		"2027-01-01T00:00:00+00:00 [ERROR] far": recognize.TooFarAhead,
	} {
		s := stamp(line)
		if !s.Found || s.Rejected != want || (want != recognize.Accepted) != (s.Time == read) {
			t.Errorf("%s: %+v, want %v", line, s, want)
		}
	}
	r := recognize.New(recognize.Options{MaxAhead: time.Hour})
	if s := r.Stamp([]byte("2026-11-21 05:00:00 x"), read, read); s.Rejected != recognize.TooFarAhead {
		t.Errorf("MaxAhead of an hour: %+v", s)
	}
}

func TestInheritance(t *testing.T) {
	t.Parallel()
	r := recognize.New(recognize.Options{})
	start := reference().UnixNano()
	step := func(line string, read, want int64, found bool) {
		t.Helper()
		if s := r.Stamp([]byte(line), read, read); s.Time != want || s.Found != found {
			t.Errorf("%q: %+v, want %d, %v", line, s, want, found)
		}
	}
	step("no time yet", start, start, false)
	step("still none", start+5, start+5, false)
	step("1795187045 first", start+6, 1795187045e9, true)
	step("\tat main", start+7, 1795187045e9, false)
	step("1795187044 earlier", start+8, 1795187044e9, true)
	step("more", start+9, 1795187044e9, false)
	step("1980-01-01 00:00:00 refused", start+10, start+10, true)
	step("and its continuation", start+11, start+10, false)
}

func TestYear(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, ref, want string }{
		{"Jun 14 15:16:01 combo x", "2005-07-27T00:00:00Z", "2005-06-14T15:16:01Z"},
		{"Dec 31 23:59:59 combo x", "2006-01-01T00:00:10Z", "2005-12-31T23:59:59Z"},
		{"Jan  1 00:00:05 combo x", "2005-12-31T23:59:50Z", "2006-01-01T00:00:05Z"},
		{"Jan  1 23:59:50 combo x", "2005-12-31T23:59:50Z", "2006-01-01T23:59:50Z"},
		{"Jan  1 23:59:51 combo x", "2005-12-31T23:59:50Z", "2005-01-01T23:59:51Z"},
		{"Feb 29 12:00:00 combo x", "2026-03-01T00:00:00Z", "2024-02-29T12:00:00Z"},
		{"Feb 29 12:00:00 combo x", "2024-02-28T13:00:00Z", "2024-02-29T12:00:00Z"},
		{"02-29 12:00:00.5 1 2 D x: y", "2103-03-01T00:00:00Z", "2096-02-29T12:00:00.5Z"},
		{"I1120 15:04:05.000000 1 a.go:1] x", "2026-11-21T00:00:00Z", "2026-11-20T15:04:05Z"},
		{"Jun 14 15:16:01 combo x", "1991-06-14T15:16:01Z", "1991-06-14T15:16:01Z"},
	} {
		ref, err := time.Parse(time.RFC3339, tc.ref)
		if err != nil {
			t.Fatal(err)
		}
		read := time.Date(2110, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
		s := recognize.New(recognize.Options{}).Stamp([]byte(tc.line), read, ref.UnixNano())
		if got := time.Unix(0, s.Time).UTC().Format(time.RFC3339Nano); got != tc.want {
			t.Errorf("%s by %s = %s, want %s", tc.line, tc.ref, got, tc.want)
		}
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone data here")
	}
	r := recognize.New(recognize.Options{Zone: berlin})
	at := reference().UnixNano()
	for _, tc := range []struct{ line, want string }{
		{"2026-11-20 15:04:05 x", "2026-11-20T14:04:05Z"},
		{"2026-07-20 15:04:05 x", "2026-07-20T13:04:05Z"},
		{"2026-07-20 15:04:06 x", "2026-07-20T13:04:06Z"},
		{"2026-07-20 15:04:05Z x", "2026-07-20T15:04:05Z"},
		{"2026-07-20 15:04:05+0500 x", "2026-07-20T10:04:05Z"},
		{"2026-03-29 01:59:59 x", "2026-03-29T00:59:59Z"},
		{"2026-03-29 03:00:00 x", "2026-03-29T01:00:00Z"},
		{"Nov 20 15:04:05 host x", "2026-11-20T14:04:05Z"},
		{"Jul 20 15:04:05 host x", "2026-07-20T13:04:05Z"},
		{"Fri Nov 20 15:04:05 UTC 2026", "2026-11-20T15:04:05Z"},
		{"1795187045 x", "2026-11-20T15:04:05Z"},
	} {
		s := r.Stamp([]byte(tc.line), at, at)
		if got := time.Unix(0, s.Time).UTC().Format(time.RFC3339Nano); got != tc.want {
			t.Errorf("%s = %s, want %s", tc.line, got, tc.want)
		}
	}
}
