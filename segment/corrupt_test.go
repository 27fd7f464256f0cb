package segment_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
)

// small is a segment of two blocks and 300 bytes or so, with a token filter or without.
func small(tb testing.TB, filter bool) []byte {
	tb.Helper()
	opts := options()
	opts.BlockSize, opts.NoFilter = 100, !filter
	blob, _ := write(tb, opts,
		rec(0, record.Info, "a", "first\nline"), rec(2, record.Error, "b", "late"),
		rec(time.Minute, record.Warn, "a", strings.Repeat("x", 60)))
	return blob
}

func TestEveryBitFlipIsNamed(t *testing.T) {
	t.Parallel()
	blob := small(t, true)
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(blob))
	// part is what the byte at an offset belongs to.
	part := func(off int64) string {
		switch {
		case off < f.Blocks[0].Stored:
			return "block 0"
		case off < f.Sections[0].Offset:
			return "block 1"
		case off < f.Footer:
			return "section filter"
		case off < size-12:
			return "footer" // its checksum, in the trailer, too
		default:
			return "trailer"
		}
	}
	for bit := range size * 8 {
		damaged := slices.Clone(blob)
		damaged[bit/8] ^= 1 << (bit % 8)
		for name, check := range map[string]func() (*segment.Footer, error){
			"verify":        func() (*segment.Footer, error) { return segment.Verify(t.Context(), ranges(damaged), size) },
			"verify stored": func() (*segment.Footer, error) { return segment.VerifyStored(t.Context(), ranges(damaged), size) },
		} {
			got, err := check()
			var corrupt *segment.CorruptError
			if !errors.As(err, &corrupt) || got != nil {
				t.Fatalf("%s, bit %d: footer %v, error %v", name, bit, got, err)
			}
			want := part(bit / 8)
			if corrupt.Part != want && (want != "trailer" || corrupt.Part != "footer") {
				t.Errorf("%s, bit %d of %s is reported as %v", name, bit, want, err)
			}
		}
		if bit/8 >= f.Footer {
			if _, err := segment.ReadFooter(t.Context(), ranges(damaged), size, f.Footer); !errors.As(err, new(*segment.CorruptError)) {
				t.Errorf("bit %d: read of a known footer: %v", bit, err)
			}
		}
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	t.Parallel()
	blob := small(t, true)
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(len(blob)) {
		cut := blob[:n]
		var corrupt *segment.CorruptError
		if _, err := verify(t, cut); !errors.As(err, &corrupt) {
			t.Errorf("verify of %d bytes: %v", n, err)
		}
		if _, err := segment.ReadFooter(t.Context(), ranges(cut), n, -1); !errors.Is(err, segment.ErrNoFooter) {
			t.Errorf("search in %d bytes: %v", n, err)
		}
		if _, err := segment.ReadFooter(t.Context(), ranges(cut), n, f.Footer); !errors.As(err, &corrupt) {
			t.Errorf("read of %d bytes: %v", n, err)
		}
	}
	for _, extra := range []string{"x", string(blob)} {
		// Appended bytes: a segment does not start where this one's footer places it.
		long := append(slices.Clone(blob), extra...)
		if _, err := verify(t, long); !errors.As(err, new(*segment.CorruptError)) {
			t.Errorf("verify with %d more bytes: %v", len(extra), err)
		}
	}
}

// rewrite changes a segment's footer, as its map in msgpack, and what lies
// between blocks and footer. It is written without the package's own encoder.
func rewrite(tb testing.TB, blob []byte, between string, change func(m map[string]any)) []byte {
	tb.Helper()
	n := len(blob)
	length := int(binary.LittleEndian.Uint32(blob[n-12:]))
	at := n - segment.FooterOverhead - length
	var m map[string]any
	if err := msgpack.Unmarshal(blob[at+segment.FrameHeader:n-segment.TrailerSize], &m); err != nil {
		tb.Fatal(err)
	}
	change(m)
	return seal(append(slices.Clone(blob[:at]), between...), pack(tb, m))
}

// pack encodes a map with its keys in order.
func pack(tb testing.TB, m map[string]any) []byte {
	tb.Helper()
	var b strings.Builder
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	e.SetSortMapKeys(true)
	if err := e.Encode(m); err != nil {
		tb.Fatal(err)
	}
	return []byte(b.String())
}

// seal appends a footer's frame.
func seal(blob, body []byte) []byte {
	blob = binary.LittleEndian.AppendUint32(blob, segment.FrameMagic)
	blob = binary.LittleEndian.AppendUint32(blob, uint32(len(body)+segment.TrailerSize))
	blob = append(blob, body...)
	blob = binary.LittleEndian.AppendUint32(blob, crc(body))
	blob = binary.LittleEndian.AppendUint32(blob, uint32(len(body)))
	return append(blob, "LOGSTOW1"...)
}

func hash(b []byte) []byte {
	h := segment.HashOf(b)
	return h[:]
}

func crc(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func TestGrowth(t *testing.T) {
	t.Parallel()
	blob := small(t, false)
	want, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("unknown keys and sections are ignored", func(t *testing.T) {
		t.Parallel()
		section := "\x57\x2a\x4d\x18\x05\x00\x00\x00hello"
		grown := rewrite(t, blob, section, func(m map[string]any) {
			m["Aaa"] = []any{map[string]any{"deep": []any{nil, true, 1.5, "text", []byte("bytes")}}}
			m["Zzz"] = 1 << 40
			m["Requires"] = []string{"Blocks", "Sections"}
			m["Sections"] = map[string]any{"Hash": hash([]byte(section)), "Length": []int{len(section)}, "Name": []string{"news"}, "X": 1}
		})
		got, err := verify(t, grown)
		if err != nil {
			t.Fatal(err)
		}
		want := *want
		want.Sections = []segment.Section{{Name: "news", Offset: want.Footer, Length: int64(len(section)), Hash: segment.HashOf([]byte(section))}}
		want.Footer += int64(len(section))
		want.Batch = blobnaming.Batch(segment.HashOf(grown[want.Footer+segment.FrameHeader : len(grown)-segment.TrailerSize]))
		if diff := gocmp.Diff(&want, got); diff != "" {
			t.Errorf("footer (-want +got):\n%s", diff)
		}
		grown[want.Footer-1] ^= 1
		var corrupt *segment.CorruptError
		if _, err := verify(t, grown); !errors.As(err, &corrupt) || corrupt.Part != "section news" {
			t.Errorf("damaged section: %v", err)
		}
	})
	t.Run("unknown requirements are refused", func(t *testing.T) {
		t.Parallel()
		grown := rewrite(t, blob, "", func(m map[string]any) {
			m["Requires"] = []string{"Dictionary"}
			delete(m, "Blocks") // it may look quite different
		})
		_, err := verify(t, grown)
		if !errors.Is(err, segment.ErrUnsupported) || !strings.Contains(err.Error(), `"Dictionary"`) {
			t.Errorf("error is %v", err)
		}
		if errors.As(err, new(*segment.CorruptError)) {
			t.Error("it is called damaged")
		}
	})
}

// TestLies are footers with a valid checksum and wrong values.
func TestLies(t *testing.T) {
	t.Parallel()
	blob := small(t, false)
	column := func(m map[string]any, table, name string) []any { return m[table].(map[string]any)[name].([]any) }
	set := func(table, name string, i int, value any) func(m map[string]any) {
		return func(m map[string]any) { column(m, table, name)[i] = value }
	}
	key := func(name string, value any) func(m map[string]any) {
		return func(m map[string]any) { m[name] = value }
	}
	const huge = uint64(1<<64 - 1)
	for name, change := range map[string]func(m map[string]any){
		"no hashes":            func(m map[string]any) { delete(m["Blocks"].(map[string]any), "Hash") },
		"short salt":           key("Salt", []byte("x")),
		"text for a number":    key("Records", "three"),
		"records":              key("Records", 4),
		"records overflow":     key("Records", huge),
		"raw":                  key("Raw", 1),
		"levels":               key("Levels", []int{0, 0, 0, 2, 0, 1, 0}),
		"few levels":           key("Levels", []int{3}),
		"start":                key("Start", at(1)),
		"end":                  key("End", at(0)),
		"service":              key("Service", "../x"),
		"long service":         key("Service", strings.Repeat("x", 64)),
		"instance":             key("Instance", "a/b"),
		"class":                key("Class", "A"),
		"parser too long":      key("Parse", strings.Repeat("x", 1025)),
		"parser of two lines":  key("Parse", "pattern/1 'a\n<b>'"),
		"negative seq":         key("Seq", -1),
		"bucket":               key("Bucket", []int64{hour - 3600, 3600}),
		"bucket over an hour":  key("Bucket", []int64{hour, 7200}),
		"bucket far away":      key("Bucket", []int64{1<<63 - 1, 3600}),
		"bucket of one number": key("Bucket", []int64{hour}),
		"sources missing":      key("Sources", []string{"a"}),
		"sources unsorted":     key("Sources", []string{"b", "a"}),
		"sources empty":        key("Sources", []string{}),
		"source without name":  key("Sources", []string{"", "a"}),
		"too many sources":     key("Sources", make([]string, segment.MaxSources+1)),
		"source too long":      key("Sources", []string{strings.Repeat("x", 256)}),
		"filter outside":       key("Filter", []int64{1, 1, 1}),
		"filter overflow":      key("Filter", []int64{1, 1 << 62, 1 << 62}),
		"sections without end": key("Sections", map[string]any{"Hash": make([]byte, 16), "Length": []uint64{huge}, "Name": []string{"x"}}),
		"sections overlap":     key("Sections", map[string]any{"Hash": make([]byte, 16), "Length": []int{8}, "Name": []string{"x"}}),
		"blocks missing":       func(m map[string]any) { delete(m, "Blocks") },
		"blocks not a map":     key("Blocks", 3),
		"column missing":       func(m map[string]any) { delete(m["Blocks"].(map[string]any), "Raw") },
		"column short":         func(m map[string]any) { m["Blocks"].(map[string]any)["Raw"] = []int{1} },
		"no blocks": key("Blocks", map[string]any{
			"Hash": []byte{}, "End": []int{}, "Levels": []int{}, "Raw": []int{}, "Records": []int{}, "Start": []int{}, "Stored": []int{},
		}),
		"too many blocks":        func(m map[string]any) { m["Blocks"].(map[string]any)["Raw"] = make([]int, segment.MaxBlocks+1) },
		"stored":                 set("Blocks", "Stored", 0, 1),
		"stored nothing":         set("Blocks", "Stored", 0, 0),
		"stored overflow":        set("Blocks", "Stored", 0, huge),
		"raw overflow":           set("Blocks", "Raw", 0, huge),
		"raw too much":           set("Blocks", "Raw", 0, segment.MaxBlockRaw+1),
		"block records":          set("Blocks", "Records", 0, 1),
		"block records overflow": set("Blocks", "Records", 0, huge),
		"block levels overflow":  set("Blocks", "Levels", 0, huge),
		"block start":            set("Blocks", "Start", 1, 1),
		"block start overflow":   set("Blocks", "Start", 0, huge),
		"block end":              set("Blocks", "End", 0, 1),
		"block end overflow":     set("Blocks", "End", 0, huge),
		"block hash":             func(m map[string]any) { m["Blocks"].(map[string]any)["Hash"].([]byte)[0] ^= 1 },
		"few block hashes":       func(m map[string]any) { m["Blocks"].(map[string]any)["Hash"] = make([]byte, 16) },
		"minute":                 set("Minutes", "Minute", 1, 2),
		"minute overflow":        set("Minutes", "Minute", 1, huge),
		"minutes out of order":   set("Minutes", "Minute", 1, 0),
		"minute levels":          set("Minutes", "Levels", 0, 1),
		"minute levels overflow": set("Minutes", "Levels", 0, huge),
		"on minute": func(m map[string]any) {
			m["Minutes"].(map[string]any)["OnMinute"] = slices.Repeat([]any{int8(0), int8(0), int8(0), int8(1), int8(0), int8(0), int8(0)}, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lie := rewrite(t, blob, "", change)
			var corrupt *segment.CorruptError
			if _, err := verify(t, lie); !errors.As(err, &corrupt) {
				t.Fatalf("error is %v", err)
			}
		})
	}
	if _, err := verify(t, rewrite(t, blob, "", func(map[string]any) {})); err != nil {
		t.Errorf("the truth is refused: %v", err)
	}
}

func TestFootersThatAreNoMap(t *testing.T) {
	t.Parallel()
	blob := small(t, false)
	at := int(int64(len(blob)) - int64(segment.FooterOverhead) - int64(binary.LittleEndian.Uint32(blob[len(blob)-12:])))
	body := blob[at+segment.FrameHeader : len(blob)-segment.TrailerSize]
	for name, bad := range map[string][]byte{
		"empty":           {},
		"a number":        {1},
		"nested deep":     append([]byte{0x81, 0xa1, 'A'}, slices.Repeat([]byte{0x91}, 1<<20)...),
		"nested maps":     append([]byte{0x81, 0xa1, 'A'}, slices.Repeat([]byte{0x81}, 1<<20)...),
		"a huge array":    {0x81, 0xa1, 'A', 0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0},
		"a huge map":      {0xdf, 0xff, 0xff, 0xff, 0xff, 0xa1, 'A', 0xc0},
		"a huge text":     {0x81, 0xa1, 'A', 0xdb, 0xff, 0xff, 0xff, 0xff, 0xc0},
		"the same key":    {0x82, 0xa1, 'A', 1, 0xa1, 'A', 1},
		"keys unsorted":   {0x82, 0xa1, 'B', 1, 0xa1, 'A', 1},
		"bytes after end": append(slices.Clone(body), 0),
		"cut":             body[:len(body)-1],
	} {
		if _, err := verify(t, seal(slices.Clone(blob[:at]), bad)); !errors.As(err, new(*segment.CorruptError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFramesRejected are blocks with a right checksum that are not what a writer makes.
func TestFramesRejected(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("text ", 20))
	frame := segment.NewCompressor().Encode(nil, text)
	if _, err := segment.NewDecoder().DecodeBlock(nil, frame, blockOf(frame, len(text))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		frame []byte
		raw   int
	}{
		"less text":       {frame, len(text) - 1},
		"more text":       {frame, len(text) + 1},
		"no text":         {frame, 0},
		"negative text":   {frame, -1},
		"too much text":   {frame, segment.MaxBlockRaw + 1},
		"two frames":      {slices.Concat(frame, frame), len(text)},
		"garbage after":   {append(slices.Clone(frame), 1), len(text)},
		"cut":             {frame[:len(frame)-1], len(text)},
		"skippable":       {[]byte("\x57\x2a\x4d\x18\x01\x00\x00\x00x"), 1},
		"not zstd":        {[]byte("plain text"), 10},
		"nothing":         {nil, 10},
		"17 MiB window":   {[]byte("\x28\xb5\x2f\xfd\xa4\x00\x00\x10\x01\x01\x00\x00"), 17 << 20},
		"with dictionary": {[]byte("\x28\xb5\x2f\xfd\x25\x07\x01\x09\x00\x00x\x00\x00\x00\x00"), 1},
		"no checksum":     {[]byte("\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00x"), 1},
	} {
		got, err := segment.NewDecoder().DecodeBlock([]byte("before"), c.frame, blockOf(c.frame, c.raw))
		var corrupt *segment.CorruptError
		if !errors.As(err, &corrupt) || got != nil || corrupt.Part != "block 0" {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
	t.Run("appends", func(t *testing.T) {
		t.Parallel()
		got, err := segment.NewDecoder().DecodeBlock([]byte("before "), frame, blockOf(frame, len(text)))
		if err != nil || string(got) != "before "+string(text) {
			t.Errorf("%q, error %v", got, err)
		}
	})
}

// blockOf describes a frame truly.
func blockOf(frame []byte, raw int) segment.Block {
	return segment.Block{Stored: int64(len(frame)), Raw: int64(raw), Hash: segment.HashOf(frame)}
}

// TestTextsRejected are blocks whose text is not that of records in order.
func TestTextsRejected(t *testing.T) {
	t.Parallel()
	const one = "2026-11-20T15:00:00.000000000Z\tINFO\ta\t-\tx\n"
	const two = "2026-11-20T15:00:01.000000000Z\tINFO\ta\t-\tx\n"
	truth := func() map[string]any {
		return map[string]any{
			"Bucket": []int64{hour, 3600}, "Instance": "i", "Service": "s",
			"Start": at(0), "End": at(time.Second), "Levels": []int{0, 0, 0, 2, 0, 0, 0}, "Records": 2, "Seq": 1,
			"Sources": []string{"a"}, "Minutes": map[string]any{"Minute": []int{0}, "Levels": []int{0, 0, 0, 2, 0, 0, 0}, "OnMinute": []int{0, 0, 0, 1, 0, 0, 0}},
		}
	}
	for name, text := range map[string]string{
		"":                   one + two,
		"not records":        strings.Repeat("x", len(one+two)),
		"out of order":       two + one,
		"first time differs": strings.Replace(one, "00.0", "00.1", 1) + two,
		"last time differs":  one + strings.Replace(two, "01.0", "00.1", 1),
		"outside the bucket": one + strings.Replace(two, "T15", "T16", 1),
		"a record more":      one + one + two,
		"a record less":      one + "\t" + two,
		"another level":      one + strings.Replace(two, "INFO", "WARN", 1),
		"another source":     one + strings.Replace(two, "\ta\t", "\tb\t", 1),
	} {
		frame := segment.NewCompressor().Encode(nil, []byte(text))
		m := truth()
		m["Raw"] = len(text)
		m["Blocks"] = map[string]any{
			"Hash": hash(frame), "End": []int{1e9}, "Levels": m["Levels"], "Raw": []int{len(text)},
			"Records": []int{2}, "Start": []int{0}, "Stored": []int{len(frame)},
		}
		_, err := verify(t, seal(frame, pack(t, m)))
		if name == "" {
			if err != nil {
				t.Errorf("the truth is refused: %v", err)
			}
		} else if !errors.As(err, new(*segment.CorruptError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckMetadata(t *testing.T) {
	t.Parallel()
	blob, m := write(t, options(), rec(0, record.Info, "a", "x"))
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(m); err != nil {
		t.Error(err)
	}
	m.Records++
	var corrupt *segment.CorruptError
	if err := f.Check(m); !errors.As(err, &corrupt) || corrupt.Part != "metadata" || !strings.Contains(err.Error(), "Records") {
		t.Errorf("error is %v", err)
	}
}

func TestReadErrorsAreNotCorruption(t *testing.T) {
	t.Parallel()
	blob := small(t, false)
	read := ranges(blob)
	for fail := range 3 {
		calls := 0
		_, err := segment.Verify(t.Context(), func(ctx context.Context, off, n int64) ([]byte, error) {
			if calls++; calls > fail {
				return nil, errDisk
			}
			return read(ctx, off, n)
		}, int64(len(blob)))
		if !errors.Is(err, errDisk) || errors.As(err, new(*segment.CorruptError)) {
			t.Errorf("read %d fails: %v", fail, err)
		}
	}
}
