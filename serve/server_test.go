package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"logstow/internal/hint"
	"logstow/internal/test/await"
	"logstow/internal/test/testpki"
	"logstow/serve/access"
)

// Without tokens only loopback is listened on, whatever else is given.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen string
		tokens bool
		want   string // "" listens
	}{
		{"127.0.0.1:0", false, ""},
		{"localhost:0", false, ""},
		{"[::1]:0", false, ""},
		{":0", false, ""},
		{"127.1.2.3:0", false, ""},
		{"0.0.0.0:0", false, "needs tokens"},
		{"[::]:0", false, "needs tokens"},
		{"192.0.2.1:0", false, "needs tokens"},
		{"[::ffff:192.0.2.1]:0", false, "needs tokens"},
		{"logs.example:0", false, "needs tokens"},
		{"localhost.example:0", false, "needs tokens"},
		{"[::1%lo]:0", false, "needs tokens"},
		{"0.0.0.0:0", true, ""},
		{"127.0.0.1", false, "want HOST:PORT"},
		{"", false, "want HOST:PORT"},
	} {
		for _, proxy := range []bool{false, true} {
			opts := Options{Listen: c.listen, BehindProxy: proxy, Hosts: []string{"logs.example"}}
			if c.tokens {
				withTokens(t)(&opts)
			}
			s, err := New(t.Context(), opts)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "cannot listen on "+c.listen+": ") {
					t.Errorf("%s, proxy %v: %v", c.listen, proxy, err)
				}
				if c.want == "needs tokens" && !strings.Contains(hint.Of(err), "--tokens") {
					t.Errorf("%s: hint %q", c.listen, hint.Of(err))
				}
				continue
			}
			if err != nil {
				if c.listen == "[::1]:0" && errors.Is(err, os.ErrInvalid) || strings.Contains(err.Error(), "cannot assign requested address") {
					continue // no such address here
				}
				t.Errorf("%s, proxy %v: %v", c.listen, proxy, err)
				continue
			}
			if at, ok := s.Addr().(*net.TCPAddr); !ok || !c.tokens && !at.IP.IsLoopback() {
				t.Errorf("%s: listens on %v", c.listen, s.Addr())
			}
			s.listener.Close()
		}
	}
}

// When it ends, requests that run have time to end, tails end at once, and no new ones are accepted.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := start(t)
	answer := s.wait(t.Context(), "")
	receive(t, s.api.began, "the query")
	c, _, err := s.dial(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, s.api.began, "the tail")
	ended := make(chan error, 1)
	go func() { ended <- s.stop() }()
	if err := receive(t, s.api.ended, "the end of the tail"); !errors.Is(err, errDraining) {
		t.Errorf("the tail ended: %v", err)
	}
	reading, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := c.Read(reading); err == nil || reading.Err() != nil {
		t.Error("the tail is open")
	}
	await.Until(t, time.Minute, "connections are refused", func() bool {
		resp, err := client().Get(s.url + "/ready") //nolint:noctx // a test
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	select {
	case err := <-ended:
		t.Fatalf("ended before the query: %v", err)
	default:
	}
	close(s.api.release)
	if got := receive(t, answer, "an answer"); got != "200 released <nil>" {
		t.Error(got)
	}
	if err := receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
}

// Requests that take longer are canceled, and their clients see that they have no answer.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.times.drain, o.times.closing = 50*time.Millisecond, time.Hour })
	answer := s.wait(t.Context(), "")
	receive(t, s.api.began, "the query")
	began, ended := time.Now(), make(chan error, 1)
	go func() { ended <- s.stop() }()
	if err := receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d < 50*time.Millisecond {
		t.Errorf("took %v", d)
	}
	if err := receive(t, s.api.ended, "the cause"); !errors.Is(err, errDraining) {
		t.Error(err)
	}
	if got := receive(t, answer, "an answer"); strings.HasPrefix(got, "200") {
		t.Error(got)
	}
}

// Reload takes the tokens of the file at once; a file that is not right leaves those before and is logged.
func TestReload(t *testing.T) {
	t.Parallel()
	file := tokenFile(t)
	s := start(t, func(o *Options) {
		var err error
		if o.Tokens, err = access.Open(file); err != nil {
			t.Fatal(err)
		}
	})
	status := func(secret string) int {
		resp, _ := s.ask(t, http.MethodGet, prefix+"labels", bearer(secret))
		return resp.StatusCode
	}
	for _, step := range []struct {
		text      string
		mode      os.FileMode
		ok        bool
		shop, new int
	}{
		{line("new", noSecret, "[shop]"), 0o600, true, 401, 200},
		{"- {", 0o600, false, 401, 200},
		{line("shop", shopSecret, "[shop]"), 0o644, false, 401, 200},
		{line("shop", shopSecret, "[shop]"), 0o600, true, 200, 401},
	} {
		writeTokens(t, file, step.text)
		if err := os.Chmod(file, step.mode); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); (err == nil) != step.ok {
			t.Errorf("%q: %v", step.text, err)
		}
		if shop, other := status(shopSecret), status(noSecret); shop != step.shop || other != step.new {
			t.Errorf("%q: %d and %d", step.text, shop, other)
		}
	}
	if n := strings.Count(s.log.String(), "reload rejected; keeping the old tokens"); n != 2 {
		t.Errorf("%d rejections logged", n)
	}
}

// dialTLS is the serial number of the server's certificate, by a client of at most a version.
func dialTLS(t *testing.T, s *running, pki *testpki.PKI, version uint16) (string, error) {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{RootCAs: pki.Pool, ServerName: "localhost", MaxVersion: version}} //nolint:gosec // older ones are to fail
	c, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	return string(c.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw), nil
}

// With a certificate it speaks TLS 1.2 or later, and takes a new certificate when its files change or at a reload.
func TestTLS(t *testing.T) {
	t.Parallel()
	first, second := testpki.New(t), testpki.New(t)
	s := start(t, withTokens(t), func(o *Options) { o.Cert, o.Key = first.Path("server.pem"), first.Path("server.key") })
	old, err := dialTLS(t, s, first, tls.VersionTLS12)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dialTLS(t, s, first, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	https := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: first.Pool, ServerName: "localhost"}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.Addr().String()+"/login", strings.NewReader("token="+shopSecret))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := https.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if c := resp.Cookies(); len(c) != 1 || !c[0].Secure {
		t.Errorf("%d %v", resp.StatusCode, c)
	}

	written := time.Now().Truncate(time.Second)
	copyPair := func(broken bool) {
		for _, name := range []string{"server.pem", "server.key"} {
			text, err := os.ReadFile(second.Path(name))
			if err != nil {
				t.Fatal(err)
			}
			if broken {
				text = text[:len(text)/2]
			}
			if err := os.WriteFile(first.Path(name), text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(first.Path(name), written, written); err != nil { // within one tick of the clock of the file system
				t.Fatal(err)
			}
		}
	}
	copyPair(true)
	if err := s.Reload(); err == nil {
		t.Error("half a certificate is accepted")
	}
	if got, err := dialTLS(t, s, first, tls.VersionTLS13); err != nil || got != old {
		t.Errorf("after half a certificate: %v", err)
	}
	copyPair(false)
	await.Until(t, time.Minute, "the new certificate is used", func() bool {
		got, err := dialTLS(t, s, second, tls.VersionTLS13)
		return err == nil && got != old
	})
	if log := s.log.String(); !strings.Contains(log, "keeping the old certificate") {
		t.Error("the rejection is not logged")
	}
	if _, err := New(context.Background(), Options{Listen: "127.0.0.1:0", Cert: first.Path("server.pem")}); err == nil {
		t.Error("a certificate without a key is accepted")
	}
	if _, err := New(context.Background(), Options{Listen: "127.0.0.1:0", Cert: "none.pem", Key: "none.key"}); err == nil || !strings.Contains(err.Error(), "cannot read the certificate of none.pem") {
		t.Error(err)
	}
}

// Tokens over a connection that is not encrypted are warned of.
func TestUnencrypted(t *testing.T) {
	t.Parallel()
	for _, proxy := range []bool{false, true} {
		s := start(t, withTokens(t), func(o *Options) { o.Listen, o.BehindProxy = "0.0.0.0:0", proxy })
		if got := strings.Contains(s.log.String(), "sent unencrypted"); got == proxy {
			t.Errorf("behind a proxy %v: warned %v", proxy, got)
		}
	}
}

// A request with Content-Length and Transfer-Encoding gets one response: what follows its chunks is not another request.
func TestAmbiguousRequest(t *testing.T) {
	t.Parallel()
	conn := start(t).raw(t)
	if _, err := io.WriteString(conn, "POST /loki/api/v1/labels HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+
		"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if n := strings.Count(string(all), "HTTP/1.1 "); n != 1 || err != nil {
		t.Errorf("%d responses, error %v: %q", n, err, all)
	}
}
