package relay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/listen"
	inputrelay "logstow/input/relay"
	"logstow/internal/test/await"
	"logstow/record"
	"logstow/relay"
	"logstow/segment"
	"logstow/store"
	"logstow/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sender = "00000000000000000000000000000001"
	other  = "00000000000000000000000000000002"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// place is a relay over a buffer in a directory.
type place struct {
	t       *testing.T
	dir     string
	options buffer.Options
	tokens  map[string]string
	tls     listen.TLS
	stats   *input.Stats
	senders *watch.Senders

	buffer  *buffer.Buffer
	reader  input.Reader
	id      string
	address string
	stop    context.CancelFunc
	ended   chan error
}

func start(t *testing.T, change func(*place)) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), stats: new(input.Stats)}
	if change != nil {
		change(p)
	}
	p.open()
	t.Cleanup(p.close)
	return p
}

func (p *place) open() {
	p.t.Helper()
	opts := p.options
	opts.Instance, opts.Dir, opts.FlushInterval = "relay-0", p.dir, -1
	var err error
	if p.buffer, err = buffer.Open(p.t.Context(), opts); err != nil {
		p.t.Fatal(err)
	}
	if p.id, err = p.buffer.ID(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	reader, err := (&inputrelay.Spec{Tokens: p.tokens}).Open(p.t.Context(), input.Opening{
		Options: input.Options{Sink: p.buffer, Stats: p.stats}, Endpoint: listen.Endpoint{Address: "127.0.0.1:0", TLS: p.tls}, Instance: "relay-0", BufferID: p.buffer.ID, Senders: p.senders,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.reader = reader
	p.address = reader.(interface{ Addr() net.Addr }).Addr().String()
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.ended = make(chan error, 1)
	go func() { p.ended <- reader.Run(ctx) }()
}

func (p *place) close() {
	p.stop()
	if err := errors.Join(<-p.ended, p.buffer.Close()); err != nil {
		p.t.Error(err)
	}
}

// restart ends the relay, without sealing anything, and opens it again.
func (p *place) restart() {
	p.t.Helper()
	p.close()
	p.open()
}

// put sends a segment.
func (p *place) put(name relay.Name, floor int64, body []byte, header ...string) (status int, refused bool, text string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut, "http://"+p.address+relay.SegmentsPath+name.String(), bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set(relay.FloorHeader, fmt.Sprint(floor))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(response.Body)
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode, response.Header.Get(relay.RefusedHeader) != "", string(said)
}

func (p *place) send(seq, floor int64, body []byte) {
	p.t.Helper()
	if status, _, text := p.put(relay.Name{Relay: p.id, Sender: sender, Seq: seq}, floor, body); status != http.StatusOK {
		p.t.Fatalf("segment %d: status %d: %s", seq, status, text)
	}
}

// messages are all messages that the relay has, with their instances, in their order.
func (p *place) messages() (all []string) {
	p.t.Helper()
	p.buffer.Drain(p.t.Context())
	for {
		b, err := p.buffer.Next(p.t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			p.t.Fatal(err)
		}
		if err := b.Load(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
		body, err := b.Body()
		if err != nil {
			p.t.Fatal(err)
		}
		f, err := segment.Verify(p.t.Context(), func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }, b.Size)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, block := range f.Blocks {
			records, err := segment.NewDecoder().DecodeRecords(body[block.Offset : block.Offset+block.Stored])
			if err != nil {
				p.t.Fatal(err)
			}
			for _, r := range records {
				all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s %s", f.Service, f.InstanceOf(block), f.Class, r.Source, r.Message, r.Attributes)))
			}
		}
	}
}

// sealed makes a segment of a sender.
func sealed(t *testing.T, change func(*segment.Options), messages ...string) []byte {
	t.Helper()
	opts := segment.Options{Service: "web", Instance: "node-1", BucketStart: noon.Unix(), BucketWidth: 3600, Salt: [16]byte{1}}
	if change != nil {
		change(&opts)
	}
	var out bytes.Buffer
	w := segment.NewWriter(&out, opts)
	for i, m := range messages {
		r := record.Record{Time: noon.UnixNano() + int64(i), Level: record.Info, Source: "a.log", Message: []byte(m), Attributes: []byte(`{"n":1}`)}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A segment that is sent again is appended once, also after a restart, and while it is being sent twice.
func TestOnce(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	one, two := sealed(t, nil, "one"), sealed(t, nil, "two")
	var together sync.WaitGroup
	for range 4 {
		together.Go(func() { p.send(5, 5, one) })
	}
	together.Wait()
	p.restart()
	p.send(5, 5, one)
	p.send(9, 5, two)
	p.send(5, 5, one)
	p.restart()
	p.send(9, 9, two)
	if got, want := p.messages(), []string{`web node-1  a.log one {"n":1}`, `web node-1  a.log two {"n":1}`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n := p.stats.Repeated.Load(); n < 5 {
		t.Errorf("%d repeats were counted", n)
	}
}

// What is below the floor is forgotten and refused, also after a restart; a sender does not affect others.
func TestFloor(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.send(5, 5, sealed(t, nil, "five"))
	p.send(8, 8, sealed(t, nil, "eight"))
	for range 2 {
		if status, refused, text := p.put(relay.Name{Relay: p.id, Sender: sender, Seq: 5}, 5, sealed(t, nil, "again")); status != http.StatusConflict || !refused || !strings.Contains(text, "below the floor") {
			t.Errorf("status %d: %s", status, text)
		}
		p.restart()
	}
	if status, _, text := p.put(relay.Name{Relay: p.id, Sender: other, Seq: 5}, 5, sealed(t, nil, "other")); status != http.StatusOK {
		t.Errorf("status %d: %s", status, text)
	}
	if got := len(p.messages()); got != 3 {
		t.Errorf("%d records", got)
	}
}

// A relay that has too many segments of a sender still takes the one that its floor waits for.
func TestFloorOfMany(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	state := binary.AppendUvarint(binary.AppendUvarint(nil, 20_000), 5) // the day and the floor, then all segments from 6 on
	for range 4096 {
		state = append(state, 1, 0)
	}
	if _, err := p.buffer.Append(t.Context(), buffer.Chunk{Positions: []buffer.Position{{Input: "relay/" + sender, Value: state}}}); err != nil {
		t.Fatal(err)
	}
	p.restart()
	if status, refused, text := p.put(relay.Name{Relay: p.id, Sender: sender, Seq: 5000}, 5, sealed(t, nil, "x")); status != http.StatusServiceUnavailable || !refused {
		t.Errorf("status %d: %s", status, text)
	}
	p.send(5, 5, sealed(t, nil, "five"))
	p.send(5000, 5000, sealed(t, nil, "x"))
	if got := len(p.messages()); got != 2 {
		t.Errorf("%d records", got)
	}
}

// A request that a relay cannot take says why, and appends nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	good := sealed(t, nil, "x")
	bad := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	mine := relay.Name{Relay: p.id, Sender: sender, Seq: 5}
	for name, c := range map[string]struct {
		name   relay.Name
		floor  int64
		body   []byte
		status int
		text   string
	}{
		"another relay":        {relay.Name{Relay: other, Sender: sender, Seq: 5}, 5, good, http.StatusMisdirectedRequest, "this is relay " + p.id},
		"no sender":            {relay.Name{Relay: p.id, Sender: "me", Seq: 5}, 5, good, http.StatusBadRequest, "not the name"},
		"floor above":          {mine, 6, good, http.StatusBadRequest, relay.FloorHeader},
		"negative floor":       {mine, -1, good, http.StatusBadRequest, relay.FloorHeader},
		"empty":                {mine, 5, nil, http.StatusLengthRequired, "length"},
		"damaged block":        {mine, 5, bad(12), http.StatusBadRequest, "not a segment"},
		"damaged footer":       {mine, 5, bad(len(good) - 40), http.StatusBadRequest, "not a segment"},
		"truncated":            {mine, 5, good[:len(good)-1], http.StatusBadRequest, "not a segment"},
		"garbage":              {mine, 5, []byte("hello"), http.StatusBadRequest, "not a segment"},
		"footer of the future": {mine, 5, future(t), http.StatusUpgradeRequired, "upgrade the relay"},
		"from another relay":   {mine, 5, mixed(t), http.StatusBadRequest, "cannot be relayed"},
	} {
		status, refused, text := p.put(c.name, c.floor, c.body)
		if status != c.status || !strings.Contains(text, c.text) || !refused {
			t.Errorf("%s: status %d, refused %v: %s", name, status, refused, text)
		}
	}
	if got := p.messages(); len(got) > 0 {
		t.Errorf("appended: %q", got)
	}
}

// mixed is a segment of another relay.
func mixed(t *testing.T) []byte {
	t.Helper()
	c := segment.NewCompressor()
	records := []record.Record{{Time: noon.UnixNano(), Source: "a.log", Message: []byte("x")}}
	block, err := c.RelayBlock(c.EncodeBlock(records, true).Stored(), records, "node-2", true)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := segment.NewWriter(&out, segment.Options{Service: "web", Instance: "relay-1", BucketStart: noon.Unix(), BucketWidth: 3600, NoFilter: true})
	if err := w.AppendBlock(block); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// future is a segment whose footer requires a key that no version knows.
func future(t *testing.T) []byte {
	t.Helper()
	const trailer = 16
	blob := bytes.ReplaceAll(mixed(t), []byte("Instances"), []byte("Instancez"))
	length := int(binary.LittleEndian.Uint32(blob[len(blob)-12:]))
	body := blob[len(blob)-trailer-length : len(blob)-trailer]
	binary.LittleEndian.PutUint32(blob[len(blob)-trailer:], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return blob
}

// Tokens allow services and classes.
func TestTokens(t *testing.T) {
	t.Parallel()
	p := start(t, func(p *place) {
		p.tokens = map[string]string{"web, db": "secret-1", "api-*:audit": "secret-1", "*": "secret-2"}
	})
	class := func(service, class string) func(*segment.Options) {
		return func(o *segment.Options) { o.Service, o.Class = service, class }
	}
	for i, c := range []struct {
		token, service, class string
		status                int
	}{
		{"", "web", "", http.StatusUnauthorized},
		{"Bearer wrong", "web", "", http.StatusUnauthorized},
		{"Basic secret-1", "web", "", http.StatusUnauthorized},
		{"Bearer secret-1", "web", "", http.StatusOK},
		{"Bearer secret-1", "web", "audit", http.StatusOK},
		{"Bearer secret-1", "api-1", "audit", http.StatusOK},
		{"Bearer secret-1", "api-1", "", http.StatusForbidden},
		{"Bearer secret-1", "shop", "", http.StatusForbidden},
		{"bearer secret-2", "shop", "long", http.StatusOK},
	} {
		status, _, text := p.put(relay.Name{Relay: p.id, Sender: sender, Seq: int64(i)}, 0, sealed(t, class(c.service, c.class), "x"), "Authorization", c.token)
		if status != c.status {
			t.Errorf("%+v: status %d: %s", c, status, text)
		}
	}
	if n := p.stats.Denied.Load(); n != 3 {
		t.Errorf("%d were denied", n)
	}
	s, err := relay.Open(relay.Options{Name: "relay://" + p.address, Token: "secret-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		service, class string
		want           error
	}{{"web", "", nil}, {"api-1", "audit", nil}, {"api-1", "", store.ErrAccessDenied}, {"shop", "", store.ErrAccessDenied}} {
		if err := s.Permits(t.Context(), c.service, c.class); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, wrong := range []string{"", ":audit", "[", "web:["} {
		if _, err := (&inputrelay.Spec{Tokens: map[string]string{wrong: "x"}}).Open(t.Context(), input.Opening{}); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}

// A segment of many blocks takes several writes; what is appended before the relay ends is not appended again.
func TestPartsOfASegment(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	var messages []string
	for i := range 60 {
		messages = append(messages, fmt.Sprintf("%d %s", i, strings.Repeat("x", 200_000)))
	}
	body := sealed(t, nil, messages...)
	// The request ends in the middle: a few writes are done, or none, or all.
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+p.address+relay.SegmentsPath+relay.Name{Relay: p.id, Sender: sender, Seq: 3}.String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(relay.FloorHeader, "3")
	go func() {
		await.Until(t, time.Minute, "a write is done", func() bool { return p.stats.Records.Load() > 0 })
		cancel()
	}()
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close()
	}
	cancel()
	http.DefaultClient.CloseIdleConnections()
	p.restart()
	p.send(3, 3, body)
	p.send(3, 3, body)
	got := p.messages()
	if len(got) != len(messages) {
		t.Fatalf("%d records, want %d", len(got), len(messages))
	}
	for i, m := range got {
		if !strings.HasPrefix(m, fmt.Sprintf("web node-1  a.log %d ", i)) {
			t.Errorf("record %d is %.60q", i, m)
		}
	}
}

// Settings with which a relay loses what it has acknowledged are refused or logged.
func TestWarns(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	for want, with := range map[string]input.Opening{"": {}, "drop-oldest": {DropsOldest: true}} {
		var logged bytes.Buffer
		with.Options = input.Options{Sink: p.buffer, Log: slog.New(slog.NewTextHandler(&logged, nil))}
		with.Address = "127.0.0.1:0"
		reader, err := (&inputrelay.Spec{}).Open(t.Context(), with)
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
		if got := logged.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
	with := input.Opening{Options: input.Options{Sink: p.buffer}, Volatile: true}
	with.Address = "127.0.0.1:0"
	if _, err := (&inputrelay.Spec{}).Open(t.Context(), with); err == nil || !strings.Contains(err.Error(), "--buffer-dir") {
		t.Errorf("a buffer in memory: %v", err)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	p := start(t, func(p *place) { p.tokens = map[string]string{"*": "secret"} })
	for token, want := range map[string]int{"": http.StatusUnauthorized, "secret": http.StatusOK} {
		s, err := relay.Open(relay.Options{Name: "relay://" + p.address, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Relays(t.Context())
		if want == http.StatusOK && (err != nil || len(all) != 1 || all[0] != relay.Info{ID: p.id, Version: relay.Version, Instance: "relay-0"}) {
			t.Errorf("%+v, %v", all, err)
		}
		if want != http.StatusOK && (err == nil || !strings.Contains(err.Error(), "401")) {
			t.Errorf("without a token: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
