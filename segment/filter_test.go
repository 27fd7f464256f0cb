package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/filter"
	"logstow/record"
	"logstow/segment"
)

// filtered is a segment of several blocks; word is in every message.
func filtered(tb testing.TB, word string) ([]byte, *segment.Footer) {
	tb.Helper()
	opts := options()
	opts.BlockSize = 1000
	var records []record.Record
	for i := range 100 {
		// Late records make blocks that are sorted after their tokens are collected.
		after := time.Duration(i^1) * time.Second
		message := fmt.Sprintf("%s%d at 10.0.0.%d\nabcdef%d", word, 1000000+i, i, i)
		records = append(records, rec(after, record.Info, fmt.Sprintf("source%d", 1000000+i), message))
	}
	blob, m := write(tb, opts, records...)
	f, err := verify(tb, blob)
	if err != nil {
		tb.Fatal(err)
	}
	if err := f.Check(m); err != nil {
		tb.Fatal(err)
	}
	return blob, f
}

// The metadata's filter finds the tokens of messages in their blocks, and those alone.
func TestFilter(t *testing.T) {
	t.Parallel()
	blob, f := filtered(t, "order")
	find := func(token string) filter.Blocks {
		key := filter.KeyOf([]byte(token))
		offset, length, ok := filter.Locate(f.Filter, key)
		if !ok {
			t.Fatalf("%+v is no filter", f.Filter)
		}
		s, err := filter.ParseSlice(blob[offset:][:length])
		if err != nil {
			t.Fatal(err)
		}
		return s.Blocks(key)
	}
	texts := blockTexts(t, blob)
	for i := range 100 {
		for _, token := range []string{fmt.Sprint("order", 1000000+i), fmt.Sprint("10.0.0.", i), fmt.Sprint("abcdef", i)} {
			got := find(token)
			for b, text := range texts {
				if (bytes.Contains(text, []byte(token+" ")) || bytes.Contains(text, []byte(token+"\n"))) && !got.Has(b) {
					t.Errorf("%s is not found in block %d", token, b)
				}
			}
		}
	}
	found := 0
	for i := range 100 {
		if !find(fmt.Sprint("source", 1000000+i)).None() {
			found++
		}
	}
	if found > 30 {
		t.Errorf("%d of 100 sources are found, but are no tokens", found)
	}
}

// A filter of another segment has right checksums, but lacks tokens.
func TestVerifyFilter(t *testing.T) {
	t.Parallel()
	blob, f := filtered(t, "order")
	other, of := filtered(t, "reply")
	if len(f.Blocks) != len(of.Blocks) {
		t.Fatalf("%d and %d blocks", len(f.Blocks), len(of.Blocks))
	}
	at, foreign := f.Sections[0].Offset, other[of.Sections[0].Offset:of.Footer]
	section := func(content []byte) func(m map[string]any) {
		return func(m map[string]any) {
			m["Sections"] = map[string]any{"Hash": hash(content), "Length": []int{len(content)}, "Name": []string{"filter"}}
			m["Filter"] = []int64{at + 8, of.Filter.Partitions, of.Filter.SliceLength}
		}
	}
	cut := append(slices.Clone(blob[:at]), blob[f.Footer:]...) // rewrite puts the filter back
	damaged := slices.Clone(foreign)
	damaged[20] ^= 1
	for reason, content := range map[string][]byte{"a token of block 0 is missing": foreign, "checksum": damaged} {
		wrong := rewrite(t, cut, string(content), section(content))
		_, err := verify(t, wrong)
		var corrupt *segment.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Part != "section filter" || !strings.Contains(corrupt.Reason, reason) {
			t.Errorf("%s: %v", reason, err)
		}
		if _, err := segment.VerifyStored(t.Context(), ranges(wrong), int64(len(wrong))); err != nil {
			t.Errorf("what is stored is whole: %v", err)
		}
	}
}

// A segment is the same with a filter and without, but for it.
func TestNoFilter(t *testing.T) {
	t.Parallel()
	opts := options()
	with, _ := write(t, opts, rec(0, record.Info, "a", "order1234567"))
	opts.NoFilter = true
	without, m := write(t, opts, rec(0, record.Info, "a", "order1234567"))
	f, err := verify(t, without)
	if err != nil {
		t.Fatal(err)
	}
	if m.Filter.Partitions != 0 || len(f.Sections) != 0 || !bytes.Equal(with[:f.Footer], without[:f.Footer]) {
		t.Errorf("%+v", f)
	}
}
