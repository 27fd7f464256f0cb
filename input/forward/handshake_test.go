package forward_test

import (
	"crypto/sha512"
	"encoding/hex"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"logstow/input/forward"
	"logstow/internal/test/inputtest"
)

func sha(parts ...string) string {
	sum := sha512.Sum512([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

// helo reads the server's first message.
func helo(t *testing.T, c net.Conn) (nonce, auth string) {
	t.Helper()
	var m []msgpack.RawMessage
	if err := msgpack.NewDecoder(c).Decode(&m); err != nil || len(m) != 2 {
		t.Fatalf("%q %v", m, err)
	}
	var options struct {
		Nonce     string `msgpack:"nonce"`
		Auth      string `msgpack:"auth"`
		Keepalive bool   `msgpack:"keepalive"`
	}
	if err := msgpack.Unmarshal(m[1], &options); err != nil || len(options.Nonce) != 16 || !options.Keepalive {
		t.Fatalf("%+v %v", options, err)
	}
	return options.Nonce, options.Auth
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s), Spec: forward.Spec{SharedKey: key, Users: map[string]string{user: password}}, Hostname: "here"})
	nonces := map[string]bool{}
	for name, c := range map[string]struct {
		key, user, password string
		want                []any
	}{
		"right":          {key, user, password, []any{"PONG", true, "", "here"}},
		"wrong key":      {"x" + key, user, password, []any{"PONG", false, "shared_key mismatch", "", ""}},
		"wrong user":     {key, "x", password, []any{"PONG", false, "username/password mismatch", "", ""}},
		"wrong password": {key, user, "x", []any{"PONG", false, "username/password mismatch", "", ""}},
		"no user":        {key, "", "", []any{"PONG", false, "username/password mismatch", "", ""}},
	} {
		conn := dial(t, server)
		nonce, auth := helo(t, conn)
		if len(auth) != 16 || nonces[nonce] || nonces[auth] {
			t.Errorf("%s: nonce %x, salt %x", name, nonce, auth)
		}
		nonces[nonce], nonces[auth] = true, true
		inputtest.Write(t, conn, pack(t, []any{"PING", "there", "salt", sha("salt", "there", nonce, c.key), c.user, sha(auth, c.user, c.password)}))
		var got []any
		if err := msgpack.NewDecoder(conn).Decode(&got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "right" {
			c.want = append(c.want, sha("salt", "here", nonce, key))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if name == "right" {
			inputtest.Write(t, conn, pack(t, []any{"app", second, text(name), chunk("a")}))
			acknowledged(t, conn, "a")
			continue
		}
		if rest := closed(t, conn); len(rest) > 0 {
			t.Errorf("%s: %q", name, rest)
		}
	}
	if got := lines(s.Wait(t, 1)); len(got) != 1 || !strings.HasSuffix(got[0], "right") {
		t.Errorf("%q", got)
	}
	if got := server.Stats(); got.Rejected != 4 {
		t.Errorf("%+v", got)
	}
}

// Nothing is taken before the handshake, and little is read.
func TestNoHandshake(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s), Spec: forward.Spec{SharedKey: key}})
	for name, b := range map[string][]byte{
		"a message": pack(t, []any{"app", second, text("one"), chunk("a")}),
		"no PING":   pack(t, []any{"PONG", "", "", "", "", ""}),
		"numbers":   pack(t, []any{"PING", 1, 2, 3, 4, 5}),
		"long":      pack(t, []any{"PING", strings.Repeat("x", 5000), "", "", "", ""}),
		"garbage":   []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c := dial(t, server)
		if _, auth := helo(t, c); auth != "" {
			t.Errorf("%s: a salt, though there are no users", name)
		}
		_, _ = c.Write(b)
		if rest := closed(t, c); len(rest) > 0 {
			t.Errorf("%s: %q", name, rest)
		}
	}
	if got := lines(s.Wait(t, 0)); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
