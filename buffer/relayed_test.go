package buffer_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/record"
	"logstow/segment"
)

// relayedChunk is a chunk of a block that a sender sealed.
func relayedChunk(t testing.TB, c *segment.Compressor, instance string, at time.Time, messages ...string) buffer.Chunk {
	t.Helper()
	var records []record.Record
	for i, m := range messages {
		records = append(records, rec(at.Add(time.Duration(i)), m))
	}
	stored := slices.Clone(c.EncodeBlock(records, true).Stored())
	decoded, err := segment.NewDecoder().DecodeRecords(stored)
	if err != nil {
		t.Fatal(err)
	}
	return buffer.Chunk{Service: "web", Relayed: &buffer.Relayed{
		Instance: instance, Start: at.Truncate(time.Hour).UnixNano(), Width: int64(time.Hour),
		Blocks: []buffer.RelayedBlock{{Stored: stored, Records: decoded}},
	}}
}

// instances are the messages of a batch by instance.
func instances(t testing.TB, b *buffer.Batch, into map[string][]string) {
	t.Helper()
	body, err := b.Body()
	if err != nil {
		t.Fatal(err)
	}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
	f, err := segment.Verify(t.Context(), read, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	decoder := segment.NewDecoder()
	for _, block := range f.Blocks {
		records, err := decoder.DecodeRecords(body[block.Offset : block.Offset+block.Stored])
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			into[f.InstanceOf(block)] = append(into[f.InstanceOf(block)], string(r.Message))
		}
	}
}

// Relayed blocks keep their instances and bytes, whatever their age and however many buckets are open, also if the process ends before
// they are sealed.
func TestRelayed(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		dir := t.TempDir()
		change := func(o *buffer.Options) { o.MaxOpen, o.MaxLateness, o.Columns = 2, time.Hour, []string{"user"} }
		b := durable(t, dir, change)
		c := segment.NewCompressor()
		want := map[string][]string{}
		for i := range 40 {
			name := fmt.Sprintf("node-%d", i%3)
			message := fmt.Sprintf("m%d", i)
			mustAppend(t, b, relayedChunk(t, c, name, noon.Add(-time.Duration(i%5)*24*time.Hour), message))
			want[name] = append(want[name], message)
			if i%10 == 0 {
				mustAppend(t, b, chunk(rec(noon, "own "+message)))
				want["test"] = append(want["test"], "own "+message)
			}
		}
		if st := b.Stats(); st.Open != 5 || st.Late != 0 {
			t.Errorf("%+v", st)
		}
		if crash {
			mustClose(t, b)
			b = durable(t, dir, change)
		}
		b.Drain(t.Context())
		got := map[string][]string{}
		for range 5 { // one of each bucket
			batch := next(t, b)
			instances(t, batch, got)
			if err := batch.Done(); err != nil {
				t.Fatal(err)
			}
		}
		if left := rest(t, b); len(left) > 0 {
			t.Errorf("%d more batches", len(left))
		}
		for name, messages := range want {
			if slices.Sort(got[name]); !slices.Equal(got[name], slices.Sorted(slices.Values(messages))) {
				t.Errorf("%s: %q, want %q", name, got[name], messages)
			}
		}
		mustClose(t, b)
	}
}

// The log restores the instance of relayed records, also of entries that are sealed in part.
func TestRelayedAfterCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	c := segment.NewCompressor()
	want := map[string][]string{}
	for i := range 30 {
		name, messages := fmt.Sprintf("node-%d", i%2), []string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)}
		mustAppend(t, b, relayedChunk(t, c, name, noon.Add(time.Duration(i)*time.Second), messages...))
		want[name] = append(want[name], messages...)
		if i == 14 {
			b.Flush(t.Context())
		}
	}
	mustClose(t, b)
	b = durable(t, dir, nil)
	b.Drain(t.Context())
	got := map[string][]string{}
	for range 2 {
		batch := next(t, b)
		instances(t, batch, got)
		if err := batch.Done(); err != nil {
			t.Fatal(err)
		}
	}
	for name, messages := range want {
		if !slices.Equal(got[name], messages) {
			t.Errorf("%s: %q, want %q", name, got[name], messages)
		}
	}
	mustClose(t, b)
}

func TestRejectsInvalidRelayed(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	c := segment.NewCompressor()
	for name, change := range map[string]func(*buffer.Relayed){
		"no instance":       func(r *buffer.Relayed) { r.Instance = "" },
		"an output's":       func(r *buffer.Relayed) { r.Instance = "-" },
		"not a bucket":      func(r *buffer.Relayed) { r.Start++ },
		"width":             func(r *buffer.Relayed) { r.Width = int64(time.Minute) },
		"outside":           func(r *buffer.Relayed) { r.Start += int64(time.Hour) },
		"without records":   func(r *buffer.Relayed) { r.Blocks = nil },
		"order":             func(r *buffer.Relayed) { slices.Reverse(r.Blocks[0].Records) },
		"level":             func(r *buffer.Relayed) { r.Blocks[0].Records[0].Level = 99 },
		"attributes":        func(r *buffer.Relayed) { r.Blocks[0].Records[0].Attributes = []byte("{ }") },
		"a message too big": func(r *buffer.Relayed) { r.Blocks[0].Records[0].Message = bytes.Repeat([]byte{'x'}, record.MaxSize+1) },
	} {
		chunk := relayedChunk(t, c, "node", noon, "x", "y")
		chunk.Positions = []buffer.Position{{Input: "in", Value: []byte("1")}}
		change(chunk.Relayed)
		if _, err := b.Append(t.Context(), chunk); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, ok := b.Position("in"); ok || b.Stats().Records != 0 {
		t.Errorf("rejected chunks left something: %+v", b.Stats())
	}
}

// The ID is kept, and the lowest Seq covers batches that wait, are in flight or will be sealed.
func TestIDAndOldestSeq(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	id, err := b.ID(t.Context())
	if err != nil || len(id) != 32 {
		t.Fatalf("%q, %v", id, err)
	}
	var seqs []int64
	for i := range 3 {
		mustAppend(t, b, chunk(rec(noon, fmt.Sprint(i))))
		before := b.OldestSeq("")
		b.Flush(t.Context())
		if i == 0 && b.OldestSeq("") < before {
			t.Errorf("the bound fell from %d to %d", before, b.OldestSeq(""))
		}
	}
	first := next(t, b)
	second := next(t, b)
	seqs = append(seqs, first.Meta.Seq, second.Meta.Seq)
	if got := b.OldestSeq(""); got != seqs[0] {
		t.Errorf("%d, want that in flight, %d", got, seqs[0])
	}
	if err := first.Bind("relay://x", "a/me/0"); err != nil {
		t.Fatal(err)
	}
	first.BindFinally("a")
	for relay, want := range map[string]int64{"a": seqs[0], "b": seqs[1]} {
		if got := b.OldestSeq(relay); got != want {
			t.Errorf("for relay %s %d, want %d", relay, got, want)
		}
	}
	if err := first.Bind("relay://x", "b/me/0"); err != nil {
		t.Fatal(err)
	}
	if got := b.OldestSeq("b"); got != seqs[0] {
		t.Errorf("bound to relay b: %d, want %d", got, seqs[0])
	}
	if err := first.Done(); err != nil {
		t.Fatal(err)
	}
	if got := b.OldestSeq(""); got != seqs[1] {
		t.Errorf("%d, want the second, %d", got, seqs[1])
	}
	second.Return()
	mustClose(t, b)
	b = durable(t, dir, nil)
	if again, err := b.ID(t.Context()); err != nil || again != id {
		t.Errorf("%q, %v, want %q", again, err, id)
	}
	if got := b.OldestSeq(""); got != seqs[1] {
		t.Errorf("after a restart %d, want %d", got, seqs[1])
	}
	b.Drain(t.Context())
	rest(t, b)
	if got := b.OldestSeq(""); got <= seqs[1] {
		t.Errorf("with nothing left %d, want more than %d", got, seqs[1])
	}
	mustClose(t, b)
	drained := durable(t, t.TempDir(), nil)
	drained.Drain(t.Context())
	if _, err := drained.ID(t.Context()); err != nil {
		t.Errorf("of a buffer that is drained: %v", err)
	}
	mustClose(t, drained)
}

// What waits for a lost relay is made free; what others may have is not.
func TestResend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := durable(t, dir, nil)
	for i := range 3 {
		mustAppend(t, b, chunk(rec(noon, fmt.Sprint(i))))
		b.Flush(t.Context())
	}
	var batches []*buffer.Batch
	for range 3 {
		batches = append(batches, next(t, b))
	}
	for i, name := range []string{"lost/me/1", "other/me/2"} {
		if err := batches[i].Bind("relay://a", name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := spool.Resend(dir, "lost"); err == nil {
		t.Error("a buffer that is open was changed")
	}
	mustClose(t, b)
	if n, err := spool.Resend(dir, "lost"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	b = durable(t, dir, nil)
	for _, want := range []string{"", "other/me/2", ""} {
		if got := next(t, b).Name(); got != want {
			t.Errorf("name %q, want %q", got, want)
		}
	}
	mustClose(t, b)
}
