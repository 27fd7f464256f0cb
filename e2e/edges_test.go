package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
)

// TestWindowEdges writes lines a second apart around the turn of an hour, day,
// month and year, and compares two-minute windows with a filter over the lines.
func TestWindowEdges(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		var lines []line
		var edges []time.Time
		for _, edge := range []string{"2023-12-31T23:00:00Z", "2024-01-01T00:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", "2024-03-15T12:00:00Z"} {
			at, err := time.Parse(time.RFC3339, edge)
			if err != nil {
				t.Fatal(err)
			}
			edges = append(edges, at)
			for i := -90; i < 90; i++ {
				when := at.Add(time.Duration(i) * time.Second)
				lines = append(lines, line{when, when.Format(time.RFC3339) + fmt.Sprintf(" INFO tick %d", i)})
			}
		}
		s.ship(t, "edges", joined(lines, time.Time{}, edges[len(edges)-1].AddDate(1, 0, 0)))
		for _, edge := range edges {
			for _, offset := range []time.Duration{-2 * time.Minute, -time.Minute, -time.Nanosecond, 0, time.Second, time.Minute} {
				from := edge.Add(offset)
				to := from.Add(2 * time.Minute)
				got := s.must(t, "logq", "query", "-s", "edges", "--from", from.Format(time.RFC3339Nano), "--to", to.Format(time.RFC3339Nano), "-o", "raw")
				same(t, from.String(), joined(lines, from, to), string(got))
			}
		}
	})
}

// ship sends text through standard input, as a service.
func (s target) ship(t *testing.T, service, text string, args ...string) result {
	t.Helper()
	r := s.command(t, strings.NewReader(text), append([]string{"shipper", "run", "--once", "--service", service}, append(args, "-")...)...)
	if r.status != 0 {
		t.Fatalf("ship %s: status %d\n%s", service, r.status, r.errs)
	}
	return r
}

// all gives a service's messages back.
func (s target) all(t *testing.T, service string) string {
	t.Helper()
	return string(s.must(t, "logq", "query", "-s", service, "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw"))
}

// TestBlobs looks at what was stored with tools that share no code with ours:
// names, metadata and content of every segment.
func TestBlobs(t *testing.T) {
	t.Parallel()
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("zstd is not installed")
	}
	name := regexp.MustCompile(`^queue/\d{4}/\d\d/\d\d/\d\d\d\d/\d{6,}\.log$`)
	var text strings.Builder
	start := time.Date(2014, 7, 31, 17, 50, 0, 0, time.UTC)
	for i := range 5000 {
		fmt.Fprintf(&text, "%s INFO order %d done\n", start.Add(time.Duration(i)*700*time.Millisecond).Format("2006-01-02T15:04:05.000Z"), i)
	}
	onBothStores(t, func(t *testing.T, s target) {
		s.ship(t, "queue", text.String(), "--flush-size", "8KiB", "--instance", "pod-1")
		var segments []struct{ Name, Start, End string }
		decoder := json.NewDecoder(bytes.NewReader(s.must(t, "logq", "segments", "-s", "queue", "--from", "2014-01-01", "--to", "2015-01-01", "-o", "json")))
		for decoder.More() {
			var one struct{ Name, Start, End string }
			if err := decoder.Decode(&one); err != nil {
				t.Fatal(err)
			}
			segments = append(segments, one)
		}
		if len(segments) < 2 {
			t.Fatalf("%d segments, want several", len(segments))
		}
		if s.dir == "" {
			checkAzure(t, s, len(segments))
			return
		}
		for _, one := range segments {
			if !name.MatchString(one.Name) {
				t.Errorf("name %s", one.Name)
			}
			out, err := exec.Command(zstd, "-dc", filepath.Join(s.dir, one.Name)).Output()
			if err != nil {
				t.Fatalf("zstd -dc %s: %v", one.Name, err)
			}
			checkContent(t, one.Name, one.Start, one.End, out)
		}
	})
}

// checkContent compares a segment's text with its name and times.
func checkContent(t *testing.T, name, start, end string, text []byte) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var times []string
	for _, l := range lines {
		columns := strings.SplitN(l, "\t", 5)
		if len(columns) != 5 || len(columns[0]) != 30 {
			t.Fatalf("%s: line %q", name, l)
		}
		times = append(times, columns[0])
	}
	if slices.Min(times) != start || slices.Max(times) != end {
		t.Errorf("%s: times %s to %s, metadata has %s to %s", name, slices.Min(times), slices.Max(times), start, end)
	}
	bucket := strings.Join(strings.Split(name, "/")[1:4], "-") + "T" + strings.Split(name, "/")[4][:2]
	if !strings.HasPrefix(start, bucket) || !strings.HasPrefix(end, bucket) {
		t.Errorf("%s holds times %s to %s", name, start, end)
	}
}

// inspection is what testdata/azurite/inspect.mjs prints: a container and the
// account's tables, as Microsoft's JavaScript client returns them.
type inspection struct {
	Blobs []struct {
		Name     string
		Metadata map[string]string
		Type     string `json:"contentType"`
		Encoding string `json:"contentEncoding"`
	}
	Tables []struct {
		Name     string
		Entities []map[string]any
	}
}

func inspect(t *testing.T, s target) inspection {
	t.Helper()
	cmd := exec.Command("node", "inspect.mjs", strings.TrimPrefix(s.store, "azblob://"))
	cmd.Dir = filepath.Join("..", "testdata", "azurite")
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspect.mjs: %v", err)
	}
	var in inspection
	if err := json.Unmarshal(out, &in); err != nil {
		t.Fatalf("inspect.mjs: %v\n%s", err, out)
	}
	return in
}

// checkAzure looks at blobs, metadata and entities through the JavaScript client.
func checkAzure(t *testing.T, s target, segments int) {
	t.Helper()
	in := inspect(t, s)
	if len(in.Blobs) != segments {
		t.Errorf("%d blobs, want %d", len(in.Blobs), segments)
	}
	byName := map[string]map[string]string{}
	for _, b := range in.Blobs {
		metadata := map[string]string{}
		for k, v := range b.Metadata {
			metadata[strings.ToLower(k)] = v
		}
		byName[b.Name] = metadata
		if b.Encoding != "zstd" || b.Type != "text/plain; charset=utf-8" || metadata["logversion"] != "logstow/1" || metadata["instance"] != "pod-1" {
			t.Errorf("blob %s: %s, %s, %v", b.Name, b.Type, b.Encoding, b.Metadata)
		}
	}
	tables := regexp.MustCompile(`^segments[0-9a-f]{8}20140731$`)
	key := regexp.MustCompile(`^queue\|0[0-9a-f]$`)
	row := regexp.MustCompile(`^\d{19}_\d{4}_\d{6,}$`)
	entities := 0
	for _, table := range in.Tables {
		if !tables.MatchString(table.Name) {
			continue
		}
		for _, e := range table.Entities {
			name, _ := e["Blob"].(string)
			metadata, mine := byName[name]
			if !mine {
				continue // another container's, of another test
			}
			entities++
			partition, _ := e["partitionKey"].(string)
			rowKey, _ := e["rowKey"].(string)
			if !key.MatchString(partition) || !row.MatchString(rowKey) || e["Type"] != "segment" || e["Batch"] != metadata["batch"] {
				t.Errorf("entity of %s: %v", name, e)
			}
			end, err := time.Parse(time.RFC3339Nano, metadata["endtime"])
			if err != nil {
				t.Error(err)
			}
			if inverted := strconv.FormatInt(1<<63-1-end.UnixNano(), 10); !strings.HasPrefix(rowKey, strings.Repeat("0", 19-len(inverted))+inverted+"_") {
				t.Errorf("row key %s of a segment that ends at %s", rowKey, end)
			}
		}
	}
	if entities != segments {
		t.Errorf("%d entities, want %d", entities, segments)
	}
}

// TestEightShippers runs eight shippers of one service and bucket at once.
func TestEightShippers(t *testing.T) {
	effort.Need(t, effort.Full, "96,000 lines")
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		var wg sync.WaitGroup
		want := map[string]bool{}
		var created, conflicts, segments int
		var mu sync.Mutex
		for shipper := range 8 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(shipper), 7))
				var text strings.Builder
				at := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
				for i := range 12000 {
					at = at.Add(250 * time.Millisecond)
					l := fmt.Sprintf("%s INFO shipper %d line %d %x%x", at.Format(time.RFC3339Nano), shipper, i, rnd.Uint64(), rnd.Uint64())
					mu.Lock()
					want[l] = true
					mu.Unlock()
					text.WriteString(l + "\n")
				}
				r := s.ship(t, "shared", text.String(), "--instance", fmt.Sprintf("pod-%d", shipper), "--flush-size", "3KiB")
				c, k, n := summary(t, r.errs)
				mu.Lock()
				defer mu.Unlock()
				created, conflicts, segments = created+c, conflicts+k, segments+n
				if n < 20 {
					t.Errorf("shipper %d wrote %d segments, want at least 20", shipper, n)
				}
			})
		}
		wg.Wait()
		if conflicts*20 > created {
			t.Errorf("%d of %d creates ended in conflict: more than 5%%", conflicts, created)
		}
		got := map[string]bool{}
		for l := range strings.Lines(s.all(t, "shared")) {
			l = strings.TrimSuffix(l, "\n")
			if got[l] {
				t.Fatalf("twice: %s", l)
			}
			got[l] = true
		}
		if len(got) != len(want) {
			t.Errorf("%d lines, want %d", len(got), len(want))
		}
		t.Logf("%d segments, %d creates, %d conflicts", segments, created, conflicts)
	})
}

// TestTwoContainersAzurite wants the tables of one account to keep two containers apart.
func TestTwoContainersAzurite(t *testing.T) {
	t.Parallel()
	one := azuriteTarget(t)
	two := one
	two.store = "azblob://" + azurite.Start(t).Container()
	at := "2026-11-20T15:04:05Z"
	one.ship(t, "api", at+" INFO in one\n")
	two.ship(t, "api", at+" INFO in two\n")
	for s, want := range map[*target]string{&one: at + " INFO in one\n", &two: at + " INFO in two\n"} {
		for _, plan := range []string{"list", "index"} {
			got := s.must(t, "logq", "query", "-s", "api", "--from", "2026-11-20", "--to", "2026-11-21", "--utc", "-o", "raw", "--plan", plan)
			same(t, s.store+" by "+plan, want, string(got))
		}
	}
}

// TestOddInput sends random bytes and a huge line and wants them back, within memory bounds.
func TestOddInput(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		const limit = 128 << 20
		random := make([]byte, effort.Cases{Test: 6, Full: 100}.N()<<20)
		rnd := rand.NewChaCha8([32]byte{1})
		_, _ = rnd.Read(random)
		random = append(random, '\n')
		r := s.command(t, bytes.NewReader(random), "shipper", "run", "--once", "--service", "random", "-")
		if r.status != 0 || r.maxRSS > limit {
			t.Errorf("random bytes: status %d, %d MiB\n%s", r.status, r.maxRSS>>20, r.errs)
		}
		r = s.command(t, nil, "logq", "query", "-s", "random", "--since", "2h", "-o", "raw")
		if r.status != 0 || r.maxRSS > limit {
			t.Errorf("query random bytes: status %d, %d MiB\n%s", r.status, r.maxRSS>>20, r.errs)
		}
		if !bytes.Equal(r.out, random) {
			t.Errorf("random bytes came back as %d bytes, want %d", len(r.out), len(random))
		}
		huge := bytes.Repeat([]byte("x"), effort.Cases{Test: 6, Full: 50}.N()<<20)
		copy(huge, "2026-11-20T15:04:05Z INFO ")
		r = s.command(t, bytes.NewReader(append(huge, "\n2026-11-20T15:04:06Z after\n"...)), "shipper", "run", "--once", "--service", "huge", "-")
		if r.status != 0 || r.maxRSS > limit {
			t.Errorf("huge line: status %d, %d MiB\n%s", r.status, r.maxRSS>>20, r.errs)
		}
		lines := strings.SplitAfter(s.all(t, "huge"), "\n")
		if len(lines) != 3 || len(lines[0]) < 1<<20-64 || lines[1] != "2026-11-20T15:04:06Z after\n" || !bytes.HasPrefix(huge, []byte(lines[0][:1<<19])) {
			t.Fatalf("%d lines of the huge input", len(lines)-1)
		}
		mark := regexp.MustCompile(`cut (\d+) bytes\]\n$`).FindStringSubmatch(lines[0])
		if mark == nil {
			t.Fatalf("no mark at the cut: %q", lines[0][len(lines[0])-60:])
		}
		cut, _ := strconv.Atoi(mark[1])
		kept := strings.LastIndex(lines[0], " …")
		if cut+kept != len(huge) {
			t.Errorf("%d bytes kept and %d reported as cut of %d", kept, cut, len(huge))
		}
	})
}
