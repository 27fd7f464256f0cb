package forward

import (
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// nonceSize is the length of a nonce and of a salt in bytes.
const nonceSize = 16

// errRejected reports a failed authentication.
var errRejected = errors.New("sender rejected")

// handshake is the state of one connection's handshake.
type handshake struct {
	opts *Options
	// nonce goes into the digests of the shared key, salt into those of passwords.
	nonce, salt []byte
}

func (o *Options) newHandshake() *handshake {
	h := &handshake{opts: o, nonce: make([]byte, nonceSize)}
	_, _ = rand.Read(h.nonce) // never fails
	if len(o.Users) > 0 {
		h.salt = make([]byte, nonceSize)
		_, _ = rand.Read(h.salt)
	}
	return h
}

// helo is the server's first message.
func (h *handshake) helo() ([]byte, error) {
	return msgpack.Marshal([]any{"HELO", struct {
		Nonce     []byte `msgpack:"nonce"`
		Auth      []byte `msgpack:"auth"`
		Keepalive bool   `msgpack:"keepalive"`
	}{h.nonce, append([]byte{}, h.salt...), true}})
}

// ping is a sender's response to helo, as received.
type ping struct{ host, salt, digest, user, password []byte }

func parsePing(message []byte) (p ping, err error) {
	c := cursor{message}
	if _, err := c.list(6); err != nil {
		return p, err
	}
	for i, part := range []*[]byte{new([]byte), &p.host, &p.salt, &p.digest, &p.user, &p.password} {
		if *part, err = c.text(); err != nil {
			return p, err
		}
		if i == 0 && string(*part) != "PING" {
			return p, errMalformed
		}
	}
	return p, nil
}

// pong returns the response to a PING. The error is the reason why the sender is rejected; the response, if
// there is one, contains it.
func (h *handshake) pong(message []byte) ([]byte, error) {
	p, err := parsePing(message)
	if err != nil {
		return nil, err
	}
	reason := h.check(&p)
	if reason != "" {
		answer, err := msgpack.Marshal([]any{"PONG", false, reason, "", ""})
		return answer, errors.Join(fmt.Errorf("%w: %s", errRejected, reason), err)
	}
	return msgpack.Marshal([]any{"PONG", true, "", h.opts.Hostname, h.digest(p.salt, []byte(h.opts.Hostname))})
}

// check returns the reason why a sender is rejected, or "".
func (h *handshake) check(p *ping) string {
	if !same(h.digest(p.salt, p.host), p.digest) {
		return "shared_key mismatch"
	}
	if len(h.opts.Users) == 0 {
		return ""
	}
	password, known := h.opts.Users[string(p.user)]
	right := same(digest(h.salt, p.user, []byte(password)), p.password)
	if !known || !right {
		return "username/password mismatch"
	}
	return ""
}

// digest proves that one side has the shared key.
func (h *handshake) digest(salt, host []byte) string {
	return digest(salt, host, h.nonce, []byte(h.opts.SharedKey))
}

func digest(parts ...[]byte) string {
	sum := sha512.New()
	for _, p := range parts {
		sum.Write(p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// same compares two texts in constant time.
func same(want string, got []byte) bool { return subtle.ConstantTimeCompare([]byte(want), got) == 1 }
