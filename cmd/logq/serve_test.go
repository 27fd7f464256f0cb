package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/cli"
	"logstow/store/local"
)

// served is a line of the log of serve.
type served struct {
	Msg, Address, Error string
}

// startServe runs serve on a free port with an empty store. It returns the address, lines of the log that come later, and what
// ends it, which returns the status.
func startServe(t *testing.T, args ...string) (address string, lines <-chan served, stop func() int) {
	t.Helper()
	dir := t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return startServeOver(t, dir, args...)
}

// startServeOver is startServe over the store in a directory.
func startServeOver(t *testing.T, dir string, args ...string) (address string, lines <-chan served, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"logq", "serve", "--store", dir, "--listen", "127.0.0.1:0"}, args...), environment{
			stdout: io.Discard, stderr: write, getenv: func(string) string { return "" }, now: time.Now, tempDir: dir,
		})
		write.Close()
	}()
	all := make(chan served, 1000)
	go func() {
		defer close(all)
		for in := bufio.NewScanner(read); in.Scan(); {
			var l served
			if err := json.Unmarshal(in.Bytes(), &l); err != nil {
				l.Msg = in.Text()
			}
			all <- l
		}
	}()
	t.Cleanup(cancel)
	first := next(t, all)
	if first.Msg != "serving" {
		t.Fatalf("%+v", first)
	}
	return first.Address, all, func() int {
		cancel()
		select {
		case status := <-ended:
			return status
		case <-time.After(time.Minute):
			t.Fatal("it serves after a minute")
			return 0
		}
	}
}

func next(t *testing.T, lines <-chan served) served {
	t.Helper()
	select {
	case l := <-lines:
		return l
	case <-time.After(time.Minute):
		t.Fatal("no line after a minute")
		return served{}
	}
}

func writeToken(t *testing.T, file, secret string) {
	t.Helper()
	sum := sha256.Sum256([]byte(secret))
	text := fmt.Sprintf("- {name: a, sha256: %s, services: ['*']}\n", hex.EncodeToString(sum[:]))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The command serves until it is interrupted, and reads the tokens again at SIGHUP.
func TestServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	writeToken(t, file, "first")
	address, lines, stop := startServe(t, "--tokens", file, "--metrics")
	status := func(path, secret string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if code, body := status("/ready", ""); code != 200 || body != "ready\n" {
		t.Errorf("%d %s", code, body)
	}
	if code, body := status("/metrics", "first"); code != 200 || !strings.Contains(body, "logstow_queries_running 0") {
		t.Errorf("%d %s", code, body)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	hangup := func(want string) {
		t.Helper()
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for l := next(t, lines); l.Msg != want; l = next(t, lines) {
			if strings.HasPrefix(l.Msg, "reload") {
				t.Fatalf("%+v, want %s", l, want)
			}
		}
	}
	const path = "/loki/api/v1/status/buildinfo"
	writeToken(t, file, "second")
	hangup("reloaded tokens")
	if first, _ := status(path, "first"); first != 401 {
		t.Errorf("the old token: %d", first)
	}
	if second, _ := status(path, "second"); second == 401 {
		t.Error("the new token is unknown")
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	hangup("reload rejected; keeping the old tokens")
	if second, _ := status(path, "second"); second == 401 {
		t.Error("the token before a bad file is unknown")
	}
	if s := stop(); s != cli.OK {
		t.Errorf("status %d", s)
	}
}

// A duration of 0 is no limit, as the help says.
func TestServeWithoutMaxDuration(t *testing.T) {
	_, _, stop := startServe(t, "--max-duration", "0s")
	if s := stop(); s != cli.OK {
		t.Errorf("status %d", s)
	}
}

// What is wrong on the command line is said before anything is opened.
func TestServeUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open, good := filepath.Join(dir, "open.yaml"), filepath.Join(dir, "good.yaml")
	writeToken(t, open, "x")
	writeToken(t, good, "x")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--listen 0.0.0.0:3100", "logq: cannot listen on 0.0.0.0:3100: an address that is not loopback needs tokens\nhint: give --tokens FILE, or listen on 127.0.0.1\n"},
		{"--listen 0.0.0.0:3100 --behind-proxy", "needs tokens"},
		{"--listen [::]:3100 --tls-cert a --tls-key b --host logs.example", "needs tokens"},
		{"--listen 3100", "want HOST:PORT"},
		{"--listen :80000", "logq: cannot listen on :80000: want a port from 0 to 65535\n"},
		{"--tokens " + open, "its mode 0644 gives access to users other than its owner\nhint: chmod 600 " + open},
		{"--tokens " + dir + "/none", "no such file"},
		{"--tls-cert a", "hint: give both --tls-cert and --tls-key"},
		{"--max-bytes x", "--max-bytes \"x\":"},
		{"--max-cost 0", "--max-cost 0: want more than 0"},
		{"--max-cost-per-day -1", "--max-cost-per-day -1: want more than 0"},
		{"--max-duration soon", "--max-duration:"},
		{"--max-queries 0", "--max-queries 0: want at least 1"},
		{"--max-queued -1", "--max-queued -1: want at least 0"},
		{"shop", "serve takes no arguments"},
		{"--tokens " + good, "no store given"},
	} {
		var errs strings.Builder
		status := run(t.Context(), append([]string{"logq", "serve"}, strings.Fields(c.args)...), environment{
			stdout: io.Discard, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now, tempDir: dir,
		})
		if status != cli.Usage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: status %d, %s", c.args, status, errs.String())
		}
	}
}

// A directory that does not exist, also as one of several stores, is an error at the start, and is not made.
func TestServeMissingDirectory(t *testing.T) {
	t.Parallel()
	there, missing := t.TempDir(), filepath.Join(t.TempDir(), "none")
	file := filepath.Join(there, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stores []string
		want   string
	}{
		{[]string{missing}, "logq: cannot serve " + missing + ": cannot open " + missing + ": container not found: no such directory\nhint: check the path; shipper creates"},
		{[]string{there, missing}, "logq: cannot serve " + missing},
		{[]string{file}, "container not found: it is a file"},
	} {
		args := []string{"logq", "serve", "--listen", "127.0.0.1:0"}
		for _, s := range c.stores {
			args = append(args, "--store", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var errs strings.Builder
		status := run(ctx, args, environment{
			stdout: io.Discard, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now, tempDir: there,
		})
		if cancel(); status != cli.Incomplete || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: status %d, %s", c.stores, status, errs.String())
		}
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Error("the store was made:", err)
	}
}

// An address that is in use is no error of the command line, one that this machine does not have is one.
func TestServeAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(tokens, []byte("- {name: x, sha256: "+strings.Repeat("ab", 32)+", services: [x]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address string
		status  int
		want    string
	}{
		{l.Addr().String(), cli.Incomplete, "address already in use\nhint: another program listens there"},
		{"192.0.2.1:3100", cli.Usage, "cannot assign requested address\nhint: give an address of this machine"},
	} {
		var errs strings.Builder
		status := run(t.Context(), []string{"logq", "serve", "--store", t.TempDir(), "--listen", c.address, "--tokens", tokens}, environment{
			stdout: io.Discard, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now, tempDir: t.TempDir(),
		})
		if want := "logq: cannot listen on " + c.address + ": bind: " + c.want; status != c.status || !strings.HasPrefix(errs.String(), want) {
			t.Errorf("status %d, %s, want %d, %s", status, errs.String(), c.status, want)
		}
	}
}
