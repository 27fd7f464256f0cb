package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// promised is the memory that docs/deployment.md states for a shipper, promisedIncompressible for one that several senders
// push requests of many MiB to that do not compress.
const (
	promised               = 128 << 20
	promisedIncompressible = 150 << 20
)

// flood is a payload that is small to send and large once it is taken apart.
type flood struct {
	name string
	// input is the flag of the input that it goes to; path and kind are for HTTP.
	input, path, kind string
	body              []byte
	// long is one that takes long.
	long bool
}

// floods are such payloads for every network input.
func floods(t *testing.T) []flood {
	t.Helper()
	field := func(n protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), body)
	}
	empty := func(n protowire.Number, count int) []byte { return bytes.Repeat(field(n, nil), count) }
	objects := func(before string, count int, after string) []byte {
		return []byte(before + "{}" + strings.Repeat(",{}", count-1) + after)
	}
	const records, attributes = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[`, `{"attributes":[`
	message := func(head string, count int, event string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte(head), uint32(count)), strings.Repeat(event, count)...)
	}
	const proto, json, million = "application/x-protobuf", "application/json", 1_000_000
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(bytes.Repeat([]byte("\x92\x01\x80"), 2*million)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	pairs := func(count int) []byte { return []byte("{" + strings.Repeat(`a="",`, count) + "}") }
	push := func(request []byte) []byte { return snappy.Encode(nil, request) }
	return []flood{
		{"attributes of a record", "--http", "/v1/logs", proto, field(1, field(2, field(2, empty(6, 1_900_000)))), false},
		{"attributes of a record, too many", "--http", "/v1/logs", proto, field(1, field(2, field(2, empty(6, 8*million)))), false},
		{"attributes of a resource", "--http", "/v1/logs", proto, field(1, append(field(1, empty(1, 1_900_000)), field(2, field(2, nil))...)), false},
		{"attributes of a scope", "--http", "/v1/logs", proto, field(1, field(2, append(field(1, empty(3, 1_900_000)), field(2, nil)...))), true},
		{"records", "--http", "/v1/logs", proto, field(1, field(2, empty(2, 350_000))), false},
		{"scopes", "--http", "/v1/logs", proto, field(1, empty(2, 8*million)), true},
		{"resources", "--http", "/v1/logs", proto, empty(1, 8*million), true},
		{"JSON attributes", "--http", "/v1/logs", json, objects(records+attributes, 250_000, "]}]}]}]}"), false},
		{"JSON attributes, too many", "--http", "/v1/logs", json, objects(records+attributes, 5*million, "]}]}]}]}"), true},
		{"JSON records", "--http", "/v1/logs", json, objects(records, 150_000, "]}]}]}"), false},
		{"JSON of something else", "--http", "/v1/logs", json, []byte(`{"x":[[]` + strings.Repeat(",[]", 5*million) + `]}`), true},
		{"lines", "--http", "/v1/lines", "", bytes.Repeat([]byte("a\n"), 300_000), false},
		{"empty lines", "--http", "/v1/lines", "", bytes.Repeat([]byte("\n"), 15*million), true},
		{"entries of a stream", "--http", "/loki/api/v1/push", proto, push(field(1, append(field(1, []byte("{}")), empty(2, million)...))), false},
		{"streams", "--http", "/loki/api/v1/push", proto, push(bytes.Repeat(field(1, append(field(1, []byte("{}")), field(2, nil)...)), million)), false},
		{"labels of a stream", "--http", "/loki/api/v1/push", proto, push(field(1, append(field(1, pairs(million)), field(2, nil)...))), false},
		{"metadata of an entry", "--http", "/loki/api/v1/push", proto, push(field(1, field(2, empty(3, 4*million)))), false},
		{"entries as JSON", "--http", "/loki/api/v1/push", json, []byte(`{"streams":[{"stream":{},"values":[["1",""]` + strings.Repeat(`,["1",""]`, million) + `]}]}`), false},
		{"documents", "--http", "/_bulk", json, bytes.Repeat([]byte("{\"index\":{}}\n{}\n"), million), false},
		{"deletes", "--http", "/_bulk", json, bytes.Repeat([]byte("{\"delete\":{}}\n"), million), false},
		{"events", "--forward", "", "", message("\x92\xa1a\xdd", 2*million, "\x92\x01\x80"), false},
		{"compressed events", "--forward", "", "", append(binary.BigEndian.AppendUint32([]byte("\x93\xa1a\xc6"), uint32(packed.Len())), append(packed.Bytes(), "\x81\xaacompressed\xa4gzip"...)...), false},
		{"empty arrays", "--forward", "", "", message("\x93\xa1a\x01\xdd", 15*million, "\x90"), true},
		{"empty maps in each other", "--forward", "", "", message("\x93\xa1a\x01\xdd", 5*million, "\x81\x90\x80"), true},
		{"structured data", "--syslog", "", "", []byte("<1>1 - - - - - " + strings.Repeat("[a]", 5*million) + " x\n"), false},
		{"short messages", "--syslog", "", "", bytes.Repeat([]byte("1 a"), 300_000), false},
	}
}

// incompressible are payloads that take as much memory in batches as they have bytes.
func incompressible(t *testing.T) (all []flood) {
	rnd := testrand.New(t)
	for _, line := range []int{200, 900_000} {
		body := make([]byte, 15<<20)
		for i := range body {
			if body[i] = byte(rnd.Uint32()); i%line == line-1 {
				body[i] = '\n'
			} else if body[i] == '\n' {
				body[i] = 'x'
			}
		}
		all = append(all, flood{fmt.Sprintf("incompressible lines of %d bytes", line), "--http", "/v1/lines", "", body, true})
	}
	return all
}

// send sends a payload and waits for what the input makes of it. A refusal is an answer too.
func (f *flood) send(ctx context.Context, address string) error {
	if f.input == "--http" {
		return f.sendBy(ctx, http.DefaultClient, address)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(f.body); err == nil {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c) // a connection that is closed is the answer of these
	return nil
}

// sendBy is send of a client.
func (f *flood) sendBy(ctx context.Context, client *http.Client, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+f.path, bytes.NewReader(f.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", f.kind)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode/100 != 2 && answer.StatusCode != 413 && answer.StatusCode != 429 && answer.StatusCode != 503 {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return err
}

// Whatever senders send, one at a time or several, to one input or to all of them, a
// shipper stays within the memory that is promised.
func TestLongReceiveMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("peak memory is read from /proc")
	}
	effort.Need(t, effort.Full, "hundreds of MiB for each input")
	long := effort.Of() == effort.Long
	senders := 4
	if long {
		senders = 8
	}
	r := newRig(t, false)
	p := r.start(plain(), nil, "run", "--store", r.store, "--service", "flood", "--buffer-dir", r.buffer,
		"--http", "127.0.0.1:0", "--forward", "127.0.0.1:0", "--syslog", "tcp://127.0.0.1:0")
	addresses := map[string]string{}
	for _, input := range []string{"http", "forward", "syslog"} {
		addresses["--"+input] = p.address(t, `listening","input":"`+input)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	all := floods(t)
	var together sync.WaitGroup
	report := func(f *flood, err error) {
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	each := func(all []flood, most int64) {
		for i := range all {
			f := &all[i]
			if f.long && !long {
				continue
			}
			resetPeak(t, p)
			for n := range senders {
				together.Go(func() { report(f, f.send(ctx, addresses[f.input])) })
				if n == 0 {
					together.Wait() // the first alone
				}
			}
			together.Wait()
			checkPeak(t, f.name, memoryPeak(p.cmd.Process.Pid), most)
		}
	}
	each(all, promised)
	each(incompressible(t), promisedIncompressible)
	resetPeak(t, p)
	for i := range all {
		if f := &all[i]; !f.long || long {
			together.Go(func() { report(f, f.send(ctx, addresses[f.input])) })
		}
	}
	together.Wait()
	checkPeak(t, "all at once", memoryPeak(p.cmd.Process.Pid), promised)
}

// As many connections of HTTP/2 as are accepted, each with a large request, take no more.
func TestStreamsMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("peak memory is read from /proc")
	}
	effort.Need(t, effort.Full, "sends two GiB")
	r := newRig(t, false)
	p := r.start(plain(), nil, "run", "--store", r.store, "--service", "flood", "--buffer-dir", r.buffer, "--http", "127.0.0.1:0")
	address := p.address(t, `listening","input":"http`)
	body := bytes.Repeat([]byte("a line of a large request\n"), 160_000)
	var together sync.WaitGroup
	for range 500 {
		together.Go(func() {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			defer transport.CloseIdleConnections()
			f := flood{path: "/v1/lines", input: "--http", body: body}
			if err := f.sendBy(t.Context(), &http.Client{Transport: transport}, address); err != nil {
				t.Error(err)
			}
		})
	}
	together.Wait()
	checkPeak(t, "streams", memoryPeak(p.cmd.Process.Pid), promised)
}

// resetPeak makes the kernel measure a process's peak memory from now on.
func resetPeak(t *testing.T, p *process) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// checkPeak compares a peak of memory with what docs/limits.md states.
func checkPeak(t *testing.T, what string, peak, stated int64) {
	t.Helper()
	t.Logf("%s: %d MiB, %d stated", what, peak>>20, stated>>20)
	if peak <= 0 || peak > stated {
		t.Errorf("%s: %d MiB at the peak, at most %d stated", what, peak>>20, stated>>20)
	}
}
