package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// wire forwards connections of an address to a relay, until it is cut or given another relay.
type wire struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	// mute drops what the relay answers.
	mute  bool
	conns map[net.Conn]struct{}
	all   sync.WaitGroup
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, conns: map[net.Conn]struct{}{}}
	w.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.serve(t, c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.set("", false)
		w.all.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

// set cuts all connections, and forwards new ones to a target; "" refuses them.
func (w *wire) set(target string, mute bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target, w.mute = target, mute
	for c := range w.conns {
		_ = c.Close()
	}
}

// keep registers a connection that is to be cut; false if the target has changed.
func (w *wire) keep(c net.Conn, target string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if target != w.target {
		return false
	}
	w.conns[c] = struct{}{}
	return true
}

func (w *wire) drop(c net.Conn) {
	_ = c.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

func (w *wire) serve(t *testing.T, c net.Conn) {
	defer w.drop(c)
	w.mu.Lock()
	target, mute := w.target, w.mute
	w.mu.Unlock()
	if target == "" || !w.keep(c, target) {
		return
	}
	to, err := new(net.Dialer).DialContext(t.Context(), "tcp", target)
	if err != nil {
		return
	}
	defer w.drop(to)
	if !w.keep(to, target) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		answers := io.Writer(c)
		if mute {
			answers = io.Discard
		}
		_, _ = io.Copy(answers, to)
		_ = c.Close()
	})
	_, _ = io.Copy(to, c)
	_ = to.Close()
	back.Wait()
}
