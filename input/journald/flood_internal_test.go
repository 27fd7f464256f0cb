package journald

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// repeated is text n times, without the memory for it.
func repeated(text string, n int) io.Reader {
	block := strings.Repeat(text, 1000)
	all := make([]io.Reader, n/1000)
	for i := range all {
		all[i] = strings.NewReader(block)
	}
	return io.MultiReader(all...)
}

// Entries of millions of fields, or of huge ones, take no more memory than is kept of one.
func TestParserMemory(t *testing.T) {
	const limit, names = 1 << 20, "__CURSOR=c\n__REALTIME_TIMESTAMP=1\n"
	value := string(binary.LittleEndian.AppendUint64([]byte("MESSAGE\n"), 100_000_000))
	for name, r := range map[string]io.Reader{
		"empty fields":       repeated("A=\n", 3_000_000),
		"empty binary ones":  repeated("A\n\x00\x00\x00\x00\x00\x00\x00\x00\n", 1_000_000),
		"a long name":        io.MultiReader(repeated("N", 10_000_000), strings.NewReader("=\n")),
		"a long message":     io.MultiReader(strings.NewReader(value), repeated("0123456789", 10_000_000), strings.NewReader("\n")),
		"a message repeated": repeated("MESSAGE="+strings.Repeat("x", 100)+"\n", 200_000),
	} {
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := newParser(io.MultiReader(strings.NewReader(names), r, strings.NewReader("\n")), limit)
		entries := 0
		for {
			_, err := p.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			entries++
		}
		runtime.ReadMemStats(&now)
		if grown := now.TotalAlloc - before.TotalAlloc; entries != 1 || grown > 8*limit {
			t.Errorf("%s: %d entries took %d bytes", name, entries, grown)
		}
	}
}
