package forward_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input/forward"
	"logstow/input/listen"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testpki"
)

const (
	key      = "secure_communication_is_awesome"
	user     = "shop"
	password = "s3cret"
)

// senders returns the directory of the Fluent Forward client library.
func senders(t *testing.T) string {
	t.Helper()
	return inputtest.Modules(t, "senders", "@fluent-org/logger")
}

// send sends count records with the client library.
func send(t *testing.T, dir, mode, address string, count int, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args = append([]string{"testdata/send.cjs", dir, mode, address, fmt.Sprint(count)}, args...)
	out, err := exec.CommandContext(ctx, "node", args...).CombinedOutput()
	return string(out), err
}

// wantLines are the lines of count records.
func wantLines(count int) (want []string) {
	for i := range count {
		at := time.Unix(1795000000, int64(i)*1000).UTC().Format(time.RFC3339Nano)
		want = append(want, fmt.Sprintf(`%s ERROR shop.cart {"log":"order %d \"failed\" ✓\n  at line","level":"error","order":{"id":%d,"ratio":0.5,"ok":false,"tags":["a","b"]}}`, at, i, i))
	}
	slices.Sort(want)
	return want
}

func checkLines(t *testing.T, s *inputtest.Sink, count int) {
	t.Helper()
	got := lines(s.Wait(t, 0)) // all were acknowledged
	slices.Sort(got)
	if diff := cmp.Diff(wantLines(count), got); diff != "" {
		t.Errorf("(-want +got)\n%.3000s", diff)
	}
	checkDurable(t, s)
}

func TestClientLibrary(t *testing.T) {
	t.Parallel()
	dir := senders(t)
	const count = 1500
	pki := testpki.New(t)
	tls := listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key"), ClientCA: pki.Path("ca.pem")}
	secure := []string{key, user, password}
	for name, c := range map[string]struct {
		mode string
		opts forward.Options
		args []string
	}{
		"message":    {mode: "Message"},
		"forward":    {mode: "Forward"},
		"packed":     {mode: "PackedForward"},
		"compressed": {mode: "CompressedPackedForward"},
		"shared key": {"PackedForward", forward.Options{Spec: forward.Spec{SharedKey: key}}, []string{key}},
		"user":       {"Forward", forward.Options{Spec: forward.Spec{SharedKey: key, Users: map[string]string{user: password, "another": "x"}}}, secure},
		"mutual TLS": {
			"Message",
			forward.Options{Spec: forward.Spec{SharedKey: key, Users: map[string]string{user: password}}, Endpoint: listen.Endpoint{TLS: tls}},
			append(slices.Clone(secure), pki.Path("ca.pem"), pki.Path("client.pem"), pki.Path("client.key")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			c.opts.Options = options(s)
			server, _ := serve(t, c.opts)
			if out, err := send(t, dir, c.mode, server.Addr().String(), count, c.args...); err != nil || out != "" {
				t.Fatalf("%v: %s; %+v", err, out, server.Stats())
			}
			checkLines(t, s, count)
		})
	}
}

// An application's lines are stored as they were logged, with their own time and level; beside
// other members they stay JSON.
func TestClientLibraryLines(t *testing.T) {
	t.Parallel()
	dir := senders(t)
	const count = 300
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "node", "testdata/send.cjs", dir, "CompressedPackedForward", server.Addr().String(), fmt.Sprintf("%d:lines", count)).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	var want []string
	for i := range count {
		at := fmt.Sprintf("2026-11-18T11:06:%02dZ", i%40)
		line := fmt.Sprintf(`{"time":"%s","level":"warn","msg":"order %d \"failed\" ✓"}`, at, i)
		if i%2 == 0 {
			line = `{"log":"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line) + `","stream":"stdout"}`
		}
		want = append(want, at+" WARN shop.cart "+line)
	}
	got := lines(s.Wait(t, 0)) // all were acknowledged
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%.3000s", diff)
	}
}

// The library sends again what found no room.
func TestClientLibraryRetries(t *testing.T) {
	t.Parallel()
	dir := senders(t)
	const count = 300
	s := inputtest.NewSink()
	s.SetFull(true)
	server, _ := serve(t, forward.Options{Options: options(s)})
	address := proxy(t, server.Addr().String(), func() { s.SetFull(false) })
	if out, err := send(t, dir, "Forward", address, count); err != nil || out != "" {
		t.Fatalf("%v: %s; %+v", err, out, server.Stats())
	}
	checkLines(t, s, count)
	if got := server.Stats(); got.Busy == 0 {
		t.Errorf("%+v, want some that found no room", got)
	}
}

// proxy forwards connections to an address; ended is called after the server closed the first.
func proxy(t *testing.T, address string, ended func()) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		done <- listen.Serve(ctx, l, 0, func(ctx context.Context, c net.Conn) {
			var d net.Dialer
			to, err := d.DialContext(ctx, "tcp", address)
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = to.Close() })
			defer stop()
			var there sync.WaitGroup
			there.Go(func() {
				_, _ = io.Copy(to, c)
				_ = to.(*net.TCPConn).CloseWrite()
			})
			_, _ = io.Copy(c, to)
			once.Do(ended)
			_ = c.Close()
			_ = to.Close()
			there.Wait()
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestClientLibraryRejected(t *testing.T) {
	t.Parallel()
	dir := senders(t)
	for name, args := range map[string][]string{"key": {"wrong", user, password}, "password": {key, user, "wrong"}, "user": {key, "nobody", password}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			server, stop := serve(t, forward.Options{Options: options(s), Spec: forward.Spec{SharedKey: key, Users: map[string]string{user: password}}})
			out, err := send(t, dir, "Message", server.Addr().String(), 1, args...)
			stop() // the rejection is counted after the sender is told
			if err == nil || len(lines(s.Wait(t, 0))) > 0 || server.Stats().Rejected == 0 {
				t.Errorf("%v %s %+v", err, out, server.Stats())
			}
			if strings.Contains(out, key) {
				t.Error("the key is in the response")
			}
		})
	}
}
