package wal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/disktest"
	"logstow/record"
	"logstow/segment"
)

// blocksSample is an entry of two blocks, of two records and of one.
func blocksSample() *Records {
	c := segment.NewCompressor()
	first := c.EncodeBlock([]record.Record{
		{Time: 3600e9 + 5, Level: record.Info, Source: "a.log", Message: []byte("later")},
		{Time: 3600e9 + 1, Level: record.None, Source: "a.log", Message: nil},
	}, true)
	second := c.EncodeBlock([]record.Record{{Time: 7100e9, Level: record.Fatal, Source: "b.log", Message: []byte("three\nlines\xff\r")}}, true)
	return &Records{
		First: 1, Service: "web", Class: "audit", Parse: "none/1", Runs: []Run{{Start: 3600e9, Width: 3600e9, Count: 3}},
		Blocks: [][]byte{first.Stored(), second.Stored()}, Positions: []Position{{Input: "file:1", Value: []byte{1, 2}}},
	}
}

// Records that were appended as blocks are replayed in the order of the blocks, without those that are covered.
func TestReplayBlocks(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	for range 2 {
		if _, _, err := l.Append(*blocksSample()); err != nil {
			t.Fatal(err)
		}
	}
	rec := []record.Record{{Time: 3700e9, Source: "a.log", Message: []byte("plain")}}
	first, _, err := l.Append(Records{Service: "web", Class: "audit", Parse: "none/1", Runs: []Run{{3600e9, 3600e9, 1}}, Records: rec})
	if err != nil || first != 7 {
		t.Fatalf("number %d, error %v; want 7", first, err)
	}
	if _, err := l.Cover(Key{"web", "audit", "none/1", 3600e9, 3600e9}, 4, 77); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, damage := open(t, fs)
	all := replay(t, l)
	if len(damage) > 0 || l.Next() != 8 {
		t.Errorf("damage %v, next %d", damage, l.Next())
	}
	if diff := cmp.Diff([]string{"5 later", "6 three\nlines\xff\r", "7 plain"}, messages(all)); diff != "" {
		t.Error(diff)
	}
	want := Records{
		First: 5, Service: "web", Class: "audit", Parse: "none/1", Runs: []Run{{3600e9, 3600e9, 2}},
		Records: []record.Record{
			{Time: 3600e9 + 5, Level: record.Info, Source: "a.log", Message: []byte("later")},
			{Time: 7100e9, Level: record.Fatal, Source: "b.log", Message: []byte("three\nlines\xff\r")},
		},
	}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Error(diff)
	}
	if p, ok := l.Position("file:1"); !ok || !bytes.Equal(p, []byte{1, 2}) {
		t.Errorf("position %v", p)
	}
}

// An entry whose blocks are no blocks, or hold other numbers of records, is refused and not replayed in part.
func TestReplayWrongBlocks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Records){
		"no block":         func(e *Records) { e.Blocks[1] = []byte("no block") },
		"truncated block":  func(e *Records) { e.Blocks[0] = e.Blocks[0][:len(e.Blocks[0])-5] },
		"no records":       func(e *Records) { e.Blocks[1] = segment.NewCompressor().Encode(nil, []byte("no record\n")) },
		"too few records":  func(e *Records) { e.Runs[0].Count++ },
		"too many records": func(e *Records) { e.Runs[0].Count-- },
	} {
		fs := disktest.New()
		l, _ := open(t, fs)
		e := blocksSample()
		change(e)
		if _, _, err := l.Append(*e); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, _ = open(t, fs)
		err := l.Replay(func(r Records) error { return fmt.Errorf("%q is replayed", messages([]Records{r})) })
		if !errors.Is(err, ErrEntry) || !strings.Contains(err.Error(), ".log at ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unreadable is a log with blocks of which one is none.
func unreadable(t *testing.T) (*disktest.FS, *Log) {
	t.Helper()
	fs := disktest.New()
	l, _ := open(t, fs)
	e := blocksSample()
	e.Blocks[0] = []byte("no block")
	if _, _, err := l.Append(*e); err != nil {
		t.Fatal(err)
	}
	return fs, l
}

// Blocks that are in a sealed batch need not be read.
func TestSealedBlocksAreNotRead(t *testing.T) {
	t.Parallel()
	fs, l := unreadable(t)
	if _, err := l.Cover(Key{"web", "audit", "none/1", 3600e9, 3600e9}, 3, 77); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ = open(t, fs)
	if all := replay(t, l); len(all) > 0 {
		t.Errorf("%q is replayed", messages(all))
	}
}

// Peek needs no block for the names of services.
func TestPeekReadsNoBlocks(t *testing.T) {
	t.Parallel()
	fs, _ := unreadable(t)
	s, err := Peek(t.Context(), fs, "wal", Sealed{})
	if diff := cmp.Diff([]string{"web"}, s.Services); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestTooLargeBlocks(t *testing.T) {
	t.Parallel()
	l, _ := open(t, disktest.New())
	e := blocksSample()
	e.Blocks = append(e.Blocks, make([]byte, maxMessages))
	if _, _, err := l.Append(*e); err == nil {
		t.Error("an entry larger than a frame is appended")
	}
	if first, _, err := l.Append(*blocksSample()); err != nil || first != 1 {
		t.Errorf("then: number %d, error %v", first, err)
	}
}

// TestGoldenBlocks pins the bytes of an entry of blocks.
func TestGoldenBlocks(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	if _, _, err := l.Append(*blocksSample()); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, fs, map[string]string{"blocks.hex": fs.Paths(suffix)[0], "blocks-copy.hex": fs.Paths(copySuffix)[0]})
}

// The instance of relayed blocks is replayed with each part of an entry.
func TestReplayInstance(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	for _, parse := range []string{"", "none/1"} {
		e := *blocksSample()
		e.Parse, e.Instance = parse, "node-1"
		if _, _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := l.Append(Records{Service: "web", Instance: "node-1", Runs: []Run{{3600e9, 3600e9, 1}}, Records: []record.Record{{Time: 3700e9}}}); err == nil {
		t.Error("records of another instance that are no blocks were accepted")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ = open(t, fs)
	var got []string
	if err := l.Replay(func(e Records) error {
		got = append(got, fmt.Sprint(e.Instance, " ", e.Parse, " ", len(e.Records)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"node-1  3", "node-1 none/1 3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
