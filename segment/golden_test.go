package segment_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/columns"
	"logstow/record"
	"logstow/segment"
)

// goldenDir holds, for each golden segment, its records' text in the order in
// which they were appended (.in), the segment (.log) and its text (.txt).
const goldenDir = "../testdata/segment/v1"

// goldens are how the golden segments were written.
func goldens() map[string]struct {
	opts    segment.Options
	records func() []record.Record
} {
	small, class := options(), options()
	small.BlockSize = 400
	class.Class, class.BucketStart, class.BucketWidth = "audit", hour+1800, 300
	tiny, filtered, attributed := options(), small, options()
	attributed.Columns = &columns.Options{Named: []string{"trace_id", "k8s.pod.name"}, Share: 10}
	parsed, columned := options(), options()
	columned.NoFilter, columned.BlockSize, columned.Columns = true, 6400, &columns.Options{Named: []string{"took"}}
	parsed.Parse, parsed.NoFilter = `pattern/1 '<ip> "<path>" <size> für <_>'`, true
	tiny.NoFilter, small.NoFilter, class.NoFilter = true, true, true
	return map[string]struct {
		opts    segment.Options
		records func() []record.Record
	}{
		"tiny": {tiny, func() []record.Record {
			return []record.Record{rec(4*time.Minute+5*time.Second+123456789, record.Error, "app.log", "disk full")}
		}},
		"blocks": {small, func() []record.Record {
			var records []record.Record
			for i := range 40 {
				// Every fifth record is 90 seconds late; some share a time.
				after := time.Duration(i/2)*time.Minute + 90*time.Second
				if i%5 == 4 {
					after -= 90 * time.Second
				}
				message := "GET /index.html 200 " + strings.Repeat("=", i)
				if i%7 == 3 {
					message = "panic: no such thing\n\tat main.go:17\n\n\tat main.go:4\n"
				}
				records = append(records, rec(after, record.Level(i%record.Levels), []string{"app.log", "web/access.log", "-"}[i%3], message))
			}
			return records
		}},
		"filter": {filtered, func() []record.Record {
			var records []record.Record
			for i := range 20 {
				message := fmt.Sprintf("request %016x of 10.0.%d.1 took %d ms", uint64(i)*0x9e3779b97f4a7c15, i, i*i)
				records = append(records, rec(time.Duration(i)*time.Second, record.Info, "app.log", message))
			}
			return append(records, rec(time.Minute, record.Info, "abcdef1", `{"id":"\u0031234567"}`))
		}},
		"columns": {columned, func() []record.Record {
			rnd := rand.New(rand.NewPCG(1, 2))
			var records []record.Record
			for i := range 50 {
				after := time.Duration(i/20) * time.Second
				message := fmt.Sprintf(`{"id":"%064x%064x","status":%d,"took":%d.%d}`,
					entropy(rnd), entropy(rnd), 200+300*(i%5/4), 10+rnd.IntN(500), rnd.IntN(10))
				if i == 7 {
					message = `{"id":"x","status":"none","took":1e3}`
				}
				records = append(records, rec(after, record.Info+record.Level(i%5/4*2), "app.log", message))
			}
			return records
		}},
		"attributes": {attributed, func() []record.Record {
			return []record.Record{
				with(rec(2*time.Second, record.Error, "cart", "no stock"),
					`{"http.route":"/cart","resource":{"k8s.pod.name":"cart-5d"},"trace_id":"5b8efff798038103d269b633813fc60c"}`),
				rec(time.Second, record.Info, "cart", "ready"),
				with(rec(3*time.Second, record.Error, "cart", ""), `{"exception.stacktrace":"java.lang.NullPointerException\n\tat \"x\"","n":1.0}`),
				with(rec(4*time.Second, record.Info, "cart", "a\nb"), `{"resource":{"k8s.node.name":"n1","k8s.pod.name":"cart-5d"},"stream":{"team":"a"}}`),
			}
		}},
		"parse": {parsed, func() []record.Record {
			return []record.Record{rec(time.Second, record.Info, "app.log", `192.0.2.1 "/" 17 für alle`)}
		}},
		"odd": {class, func() []record.Record {
			var every []byte
			for c := range 256 {
				every = append(every, byte(c))
			}
			return []record.Record{
				rec(30*time.Minute, record.None, "é/日本.log", string(every)),
				rec(30*time.Minute, record.Trace, "b", ""),
				rec(30*time.Minute, record.Debug, "b", "\n"),
				rec(30*time.Minute, record.Fatal, "b", "\t\n\t\n\r\n"),
				rec(35*time.Minute-1, record.Info, "b", "2026-11-20T15:00:00.000000000Z\tINFO\tb\t-\tnot a record"),
			}
		}},
	}
}

// entropy are 32 random bytes.
func entropy(rnd *rand.Rand) (b []byte) {
	for range 4 {
		b = binary.BigEndian.AppendUint64(b, rnd.Uint64())
	}
	return b
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, golden := range goldens() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(goldenDir, name)
			if *update {
				writeGolden(t, file, golden.opts, golden.records())
			}
			blob, in, text := readFile(t, file+".log"), readFile(t, file+".in"), readFile(t, file+".txt")

			if got := bytes.Join(blockTexts(t, blob), nil); !bytes.Equal(got, text) {
				t.Errorf("the segment's text differs from %s.txt:\n%s", name, gocmp.Diff(string(text), string(got)))
			}
			f, err := verify(t, blob)
			if err != nil {
				t.Fatal(err)
			}
			frame, err := segment.AppendFooter(nil, f)
			if err != nil || !bytes.Equal(frame, blob[f.Footer:]) {
				t.Errorf("the footer is encoded differently, error %v", err)
			}

			// Written anew, all but the compressed bytes is the same.
			again, m := write(t, golden.opts, parse(t, in)...)
			got, err := verify(t, again)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Check(m); err != nil {
				t.Error(err)
			}
			compressed := cmpopts.IgnoreFields(segment.Block{}, "Offset", "Stored", "Hash")
			got.Footer, got.Filter.Offset, got.Batch = f.Footer, f.Filter.Offset, f.Batch
			for i := range got.Sections {
				got.Sections[i].Offset = f.Sections[i].Offset
			}
			if diff := gocmp.Diff(f, got, compressed); diff != "" {
				t.Errorf("footer written anew (-want +got):\n%s", diff)
			}
			if !bytes.Equal(bytes.Join(blockTexts(t, again), nil), text) {
				t.Error("text written anew differs")
			}
		})
	}
}

// goldenParts are the inputs of the golden output: the first two share a time, the
// third is of another bucket.
func goldenParts(t *testing.T) []part {
	t.Helper()
	web1, web2, late := options(), options(), options()
	web1.Instance, web2.Instance, late.Instance = "web-1", "web-2", "web-1"
	web2.Salt, late.Salt = [16]byte{0: 3}, [16]byte{0: 4}
	late.BucketStart, late.BucketWidth = hour+1800, 300
	return []part{
		newPart(t, web2, 2, 9, rec(5*time.Second, record.Error, "app.log", "disk full")),
		newPart(t, web1, 1, 7, rec(4*time.Second, record.Info, "app.log", "a"), rec(5*time.Second, record.Warn, "app.log", "b")),
		newPart(t, late, 1, 8, rec(30*time.Minute, record.Info, "app.log", "c")),
	}
}

func TestGoldenOutput(t *testing.T) {
	t.Parallel()
	change := func(o *segment.Options) { o.NoFilter, o.BlockSize = true, 120 }
	file := filepath.Join(goldenDir, "output.log")
	written, m, lines := writeOutput(t, goldenParts(t), change)
	if _, err := os.Stat(file); *update && errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(file, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	blob := readFile(t, file)
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(m); err != nil {
		t.Error(err)
	}
	_, origins, err := segment.ReadOrigins(t.Context(), ranges(blob), int64(len(blob)), m.Origins)
	if err != nil {
		t.Fatal(err)
	}
	checkRecords(t, blob, f, origins, lines)
	if !bytes.Equal(blob[f.Blocks[0].Offset:], written) {
		t.Errorf("written anew, it differs:\n%x\n%x", blob, written)
	}
}

// writeGolden writes a golden segment that is missing; one that exists is never changed.
func writeGolden(t *testing.T, file string, opts segment.Options, records []record.Record) {
	t.Helper()
	if _, err := os.Stat(file + ".log"); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	var in []byte
	for _, r := range records {
		in = record.AppendText(in, r)
	}
	blob, _ := write(t, opts, records...)
	for suffix, content := range map[string][]byte{".in": in, ".log": blob, ".txt": bytes.Join(blockTexts(t, blob), nil)} {
		if err := os.WriteFile(file+suffix, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
