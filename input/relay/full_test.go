package relay_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"logstow/input/listen"
	inputrelay "logstow/input/relay"
	"logstow/internal/test/testpki"
	"logstow/internal/test/testrand"
	"logstow/relay"
	"logstow/store"
)

// While the buffer is full, senders are told to try again, and nothing of their segments is appended.
func TestFullBuffer(t *testing.T) {
	t.Parallel()
	p := start(t, func(p *place) { p.options.MaxSize = 1 << 20 })
	seq := int64(1)
	rnd := testrand.New(t)
	large := func() []byte {
		text := make([]byte, 100_000)
		for i := range text {
			text[i] = byte('a' + rnd.IntN(26))
		}
		return sealed(t, nil, string(text))
	}
	inputrelay.SetPatience(p.reader, 20*time.Millisecond)
	for ; seq < 200; seq++ {
		status, refused, text := p.put(relay.Name{Relay: p.id, Sender: sender, Seq: seq}, 1, large())
		if status == http.StatusOK {
			continue
		}
		if status != http.StatusServiceUnavailable || !refused || !strings.Contains(text, "no space") {
			t.Errorf("status %d, refused %v: %s", status, refused, text)
		}
		break
	}
	if seq < 2 || seq == 200 {
		t.Fatalf("%d segments were taken", seq-1)
	}
	got := p.messages()
	if len(got) != int(seq)-1 {
		t.Errorf("%d records of %d segments", len(got), seq-1)
	}
}

// Over TLS, with a token, a segment arrives once; without the authority the relay is not used.
func TestTLS(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	p := start(t, func(p *place) {
		p.tokens = map[string]string{"web": "secret"}
		p.tls = listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key")}
	})
	_, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, ca := range []string{"", pki.Path("ca.pem")} {
		s, err := relay.Open(relay.Options{Name: "relays://localhost:" + port, Token: "secret", CAFile: ca})
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.Relay(t.Context(), "web")
		if (err == nil) != (ca != "") || err == nil && id != p.id {
			t.Errorf("authorities %q: %q, %v", ca, id, err)
		}
		if err == nil {
			name := relay.Name{Relay: id, Sender: sender, Seq: 3}.String()
			for range 2 {
				if _, err := s.Blobs().Create(t.Context(), name, sealed(t, nil, "x"), store.CreateOptions{Metadata: map[string]string{relay.FloorKey: "3"}}); err != nil {
					t.Error(err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := p.messages(); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
