package gelf_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/gelf"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/internal/test/await"
	"logstow/internal/test/inputtest"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server until the test ends; stop ends it sooner.
func serve(t testing.TB, address string, services *input.Services, change func(*socket.Options)) (s *socket.Server, sink *inputtest.Sink, stop func()) {
	t.Helper()
	sink = inputtest.NewSink()
	sink.Unacknowledged = true
	opts := socket.Options{Endpoint: listen.Endpoint{Address: address}, Options: input.Options{Service: "test", Sink: sink, Stats: new(input.Stats)}}
	if change != nil {
		change(&opts)
	}
	if services == nil {
		services = input.NewServices(0, nil)
	}
	s, err := socket.New(t.Context(), opts, gelf.Protocol(services))
	if err != nil {
		t.Fatal(err)
	}
	end := inputtest.Run(t, s)
	return s, sink, func() {
		t.Helper()
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

func compress(t testing.TB, kind, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch kind {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	default:
		return []byte(text)
	}
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// chunks splits a message into n chunks.
func chunks(message []byte, id uint64, n int) (all [][]byte) {
	size := (len(message) + n - 1) / n
	for i := range n {
		c := binary.BigEndian.AppendUint64([]byte{0x1e, 0x0f}, id)
		c = append(c, byte(i), byte(n))
		all = append(all, append(c, message[min(i*size, len(message)):min((i+1)*size, len(message))]...))
	}
	return all
}

// short is a text that no compression makes short.
func short(i, size int) string {
	random := rand.New(rand.NewPCG(uint64(i), 1))
	var text strings.Builder
	for text.Len() < size {
		fmt.Fprintf(&text, "%x", random.Uint64())
	}
	return text.String()[:size]
}

// document is a document with a short message.
func document(i, size int) string {
	return fmt.Sprintf(`{"version":"1.1","host":"h%d","short_message":"%s","timestamp":1700000000.%09d,"level":3,"_app":"shop"}`, i%3, short(i, size), i)
}

// Every form over UDP gives the same records, whatever the order of the chunks.
func TestDatagrams(t *testing.T) {
	t.Parallel()
	s, sink, stop := serve(t, "udp://:0", nil, nil)
	c := inputtest.Dial(t, s.Addr())
	var want []string
	n := 0
	for _, kind := range []string{"plain", "gzip", "zlib"} {
		for _, split := range []int{0, 1, 2, 7, 128} {
			for _, size := range []int{1, 10, 3000} {
				text := document(n, size)
				want = append(want, short(n, size))
				packed := compress(t, kind, text)
				if split == 0 {
					inputtest.Write(t, c, packed)
				} else {
					parts := chunks(packed, uint64(n), split)
					rand.New(rand.NewPCG(1, uint64(n))).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
					for i, part := range parts {
						inputtest.Write(t, c, part)
						if i == 0 && split > 1 {
							inputtest.Write(t, c, part) // twice
						}
					}
				}
				n++
				got := sink.Wait(t, n)[n-1]
				if got.Time != 1700000000e9+int64(n-1) || got.Level != record.Error || got.Source != fmt.Sprintf("h%d", (n-1)%3) || got.Service != "shop" ||
					string(got.Attributes) != fmt.Sprintf(`{"app":"shop","host":"h%d","level":3,"version":"1.1"}`, (n-1)%3) {
					t.Errorf("%s in %d: %+v", kind, split, got)
				}
			}
		}
	}
	if got := inputtest.Messages(sink.Wait(t, n)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	stop()
	if stats := s.Stats(); stats.Dropped.Load()+stats.LostByKernel.Load()+stats.Incomplete.Load()+stats.Invalid.Load() != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	s, sink, _ := serve(t, "tcp://:0", nil, nil)
	c := inputtest.Dial(t, s.Addr())
	inputtest.Write(t, c, document(0, 20)+"\x00"+document(1, 20)+"\n\x00\x00no JSON\x00"+"{\n \"host\": \"h\"")
	sink.Wait(t, 3)
	inputtest.Write(t, c, "\n}\x00"+`{"host":"at the end"}`)
	sink.Wait(t, 4)
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
	want := []string{short(0, 20), short(1, 20), "no JSON", "{\n \"host\": \"h\"\n}", `{"host":"at the end"}`}
	got := sink.Wait(t, 5)
	texts := inputtest.Messages(got) // those of several services in any order
	slices.Sort(texts)
	slices.Sort(want)
	if !slices.Equal(texts, want) {
		t.Errorf("%q", inputtest.Messages(got))
	}
}

// Hostile datagrams are counted and harm nothing.
func TestHostile(t *testing.T) {
	t.Parallel()
	s, sink, _ := serve(t, "udp://:0", nil, func(o *socket.Options) { o.MaxRecord = 64 << 10 })
	c := inputtest.Dial(t, s.Addr())
	bomb := compress(t, "gzip", strings.Repeat("x", 20<<20))
	id := []byte{0x1e, 0x0f, 9, 9, 9, 9, 9, 9, 9, 9}
	hostile := [][]byte{
		bomb, bomb[:len(bomb)/2], []byte("\x1f\x8b"), []byte("\x1f\x8bxxxxxxxxxxxxxxxxx"), []byte("\x78\x9cxxxxxxxxx"),
		{0x1e, 0x0f},
		id, append(slices.Clone(id), 0), append(slices.Clone(id), 0, 0), append(slices.Clone(id), 5, 5), append(slices.Clone(id), 0, 129), append(slices.Clone(id), 200, 255),
	}
	for i, h := range hostile {
		inputtest.Write(t, c, h)
		inputtest.Write(t, c, document(i, 10))
		sink.Wait(t, i+1)
	}
	if n := s.Stats().Invalid.Load(); n != int64(len(hostile)) {
		t.Errorf("%d invalid, want %d", n, len(hostile))
	}
	// Chunks of one message that differ in their count.
	inputtest.Write(t, c, chunks([]byte("abc"), 1, 2)[0])
	inputtest.Write(t, c, chunks([]byte("abc"), 1, 3)[1])
	inputtest.Write(t, c, document(0, 10))
	sink.Wait(t, len(hostile)+1)
	if n := s.Stats().Invalid.Load(); n != int64(len(hostile)+1) {
		t.Errorf("%d invalid", n)
	}
	// Compressed and too long, but not too large: truncated.
	long := compress(t, "zlib", `{"host":"h","short_message":"`+strings.Repeat("y", 1<<20)+`"}`)
	for _, part := range append(chunks(long, 2, 4), long) {
		inputtest.Write(t, c, part)
	}
	for _, r := range sink.Wait(t, len(hostile)+3)[len(hostile)+1:] {
		if text := string(r.Message); len(text) > 64<<10 || len(text) < 60<<10 || !strings.HasSuffix(text, " bytes]") || r.Source != "h" {
			t.Errorf("%d bytes from %s, ending with %q", len(text), r.Source, text[max(0, len(text)-60):])
		}
	}
}

// While there is no space, datagrams are dropped and counted, and chunks hold a bounded memory.
func TestBounded(t *testing.T) {
	t.Parallel()
	const memory = 4 << 20
	s, sink, stop := serve(t, "udp://:0", nil, func(o *socket.Options) { o.MaxMemory = memory })
	c := inputtest.Dial(t, s.Addr())
	piece := []byte(strings.Repeat("z", 60_000))
	sent := 0
	for i := uint64(0); s.Stats().Incomplete.Load() < 50; i++ { // only the first of two chunks
		inputtest.Write(t, c, chunks(append(piece, piece...), i, 2)[0])
		if sent++; sent > 10_000 {
			t.Fatalf("%d dropped", s.Stats().Dropped.Load())
		}
	}
	// A whole one still gets through, once the kernel has room for it again.
	id := uint64(1 << 60)
	await.Until(t, time.Minute, "a whole message gets through", func() bool {
		for _, part := range chunks([]byte(document(0, 1000)), id, 3) {
			inputtest.Write(t, c, part)
		}
		id++
		return len(sink.Wait(t, 0)) > 0
	})
	sink.SetFull(true)
	for s.Stats().Dropped.Load() == 0 {
		inputtest.Write(t, c, document(1, 8000))
	}
	sink.SetFull(false)
	stop()
	if stats := s.Stats(); stats.Incomplete.Load() > int64(sent) || stats.Invalid.Load() > 0 {
		t.Errorf("%+v of %d", stats, sent)
	}
}

// A sender cannot make more services than allowed.
func TestServices(t *testing.T) {
	t.Parallel()
	s, sink, _ := serve(t, "tcp://:0", input.NewServices(2, nil), nil)
	c := inputtest.Dial(t, s.Addr())
	for i, fields := range []string{
		`"_service_name":"First One!","_app":"x"`, `"_service":"second","_app":"x"`, `"_app":"third"`, `"_app":""`, `"_app":5`, `"_app":"second"`, `"app":"first-one"`, `"_service_name":"","_app":"first-one"`,
	} {
		inputtest.Write(t, c, fmt.Sprintf(`{"host":"h","short_message":"%d",%s}`+"\x00", i, fields))
	}
	var got []string
	records := sink.Wait(t, 8)
	slices.SortStableFunc(records, func(a, b inputtest.Record) int { return bytes.Compare(a.Message, b.Message) })
	for _, r := range records {
		got = append(got, r.Service)
	}
	if want := []string{"first-one", "second", "test", "test", "test", "second", "test", "first-one"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:12201": "must start with udp:// or tcp://, as in udp://127.0.0.1:12201", "unix:///x": "must start with udp:// or tcp://", "udp://x": "HOST:PORT",
	} {
		_, err := socket.New(t.Context(), socket.Options{Endpoint: listen.Endpoint{Address: address}}, gelf.Protocol(nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
