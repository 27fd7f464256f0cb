package inputtest

import (
	"context"
	"net"
	"sync"
)

// Pipes is a [net.Listener] in memory, for servers in synctest bubbles: a goroutine that waits for a socket keeps the clock
// from going on there.
type Pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
	close   func()
}

// NewPipes makes Pipes.
func NewPipes() *Pipes {
	p := &Pipes{waiting: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept implements [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *Pipes) Close() error {
	p.close()
	return nil
}

// Addr implements [net.Listener].
func (*Pipes) Addr() net.Addr { return pipes{} }

// Dial connects to the server, whatever the address.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.waiting <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pipes is the address of Pipes.
type pipes struct{}

func (pipes) Network() string { return "pipe" }
func (pipes) String() string  { return "pipe" }
