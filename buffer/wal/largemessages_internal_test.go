package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/disktest"
	"logstow/internal/test/testrand"
	"logstow/record"
)

// largeMessages is an entry whose messages are written without being copied, in several writes.
func largeMessages(rnd *rand.Rand) Records {
	e := Records{Service: "web", Parse: "none/1", Positions: []Position{{Input: "file:1", Value: []byte{1, 2}}}}
	for size := 0; size <= 2*maxCopied; size += len(e.Records[len(e.Records)-1].Message) {
		n := rnd.IntN(100)
		switch rnd.IntN(100) {
		case 0:
			n = rnd.IntN(900_000)
		case 1:
			n = 0
		}
		message := bytes.Repeat([]byte{byte(rnd.UintN(256))}, n)
		e.Records = append(e.Records, record.Record{Time: 3600e9 + rnd.Int64N(3600e9), Level: record.Level(rnd.IntN(record.Levels)), Source: fmt.Sprint(rnd.IntN(3)), Message: message})
	}
	e.Runs = []Run{{Start: 3600e9, Width: 3600e9, Count: len(e.Records)}}
	return e
}

// appendSmall appends an entry of three records.
func appendSmall(t *testing.T, l *Log) {
	t.Helper()
	runs, records, _ := sample()
	if _, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records}); err != nil {
		t.Fatal(err)
	}
}

// Large messages are written as they are, between entries that are copied.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	e := largeMessages(testrand.New(t))
	for range 2 {
		appendSmall(t, l)
		if _, _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if l.enc.buf.Cap() > maxCopied {
		t.Errorf("%d bytes are kept for the next entry", l.enc.buf.Cap())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, damage := open(t, fs)
	all := replay(t, l)
	if len(damage) > 0 || len(all) != 6 { // a small entry has two runs
		t.Fatalf("%d parts, damage %v", len(all), damage)
	}
	for _, got := range []Records{all[2], all[5]} {
		if got.Parse != e.Parse || !slices.EqualFunc(e.Records, got.Records, func(a, b record.Record) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("parse %q, other records", got.Parse)
		}
	}
	if p, ok := l.Position("file:1"); !ok || !bytes.Equal(p, []byte{1, 2}) {
		t.Errorf("position %v", p)
	}
}

// A fault in any of the writes of an entry leaves nothing of it, and what is appended next is found. Nor does the end of the process.
func TestLargeMessagesFault(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	e := largeMessages(rnd)
	for _, fault := range []disktest.Fault{disktest.Full, disktest.Tear, disktest.Die} {
		for n := 1; ; n++ {
			fs := disktest.New()
			l, _ := open(t, fs)
			appendSmall(t, l)
			fs.Arm(n, fault)
			_, _, err := l.Append(e)
			if err == nil {
				if n < 4 {
					t.Errorf("%v: an entry of %d records was written in %d steps", fault, len(e.Records), n-1)
				}
				break
			}
			if fault == disktest.Full {
				if !errors.Is(err, ErrFull) {
					t.Fatalf("write %d: %v", n, err)
				}
				appendSmall(t, l)
			}
			again, report := openReport(t, fs.Crash(rnd, false))
			want := []string{"1 one", "2 ", "3 three\nlines\xff\r"}
			if fault == disktest.Full {
				want = append(want, "4 one", "5 ", "6 three\nlines\xff\r")
			}
			torn := slices.ContainsFunc(report.Damage, func(d Damage) bool { return d.Torn })
			if diff := cmp.Diff(want, messages(replay(t, again))); diff != "" || torn != (fault == disktest.Die) || len(report.Damage) > 0 && !torn {
				t.Errorf("fault %v in write %d: damage %v\n%s", fault, n, report.Damage, diff)
			}
		}
	}
}
