// Package listen contains the common parts of all network inputs: addresses, TLS, memory budgets, and
// serving connections within limits.
package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"logstow/internal/bind"
	"logstow/internal/certs"
	"logstow/internal/retry"
)

// DefaultMaxConnections is the default of [Endpoint.MaxConnections].
const DefaultMaxConnections = 512

// ErrBudget reports that more bytes were requested than the size of a [Budget].
var ErrBudget = errors.New("over the memory limit of all connections")

// handshakeTimeout is how long a client may take for its part of a TLS handshake.
const handshakeTimeout = 10 * time.Second

// Handshake performs the handshake of a TLS connection, within ten seconds. It does nothing for other
// connections.
func Handshake(ctx context.Context, c net.Conn) error {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS with %s: %w", c.RemoteAddr(), err)
	}
	return nil
}

// Endpoint is where and how an input listens.
type Endpoint struct {
	// Address is HOST:PORT, unless the input documents another form. The default host is loopback. It is required.
	Address string
	// TLS enables TLS.
	TLS TLS
	// MaxConnections is the maximum number of concurrent connections; 0 is [DefaultMaxConnections]. Further connections wait to be
	// accepted, unless the input documents something else.
	MaxConnections int
	// IdleTimeout is how long a connection may be silent before it is closed; 0 is an hour.
	IdleTimeout time.Duration
	// MessageTimeout is how long a message on a stream may take from its first byte to its last before the connection is closed;
	// 0 is a minute.
	MessageTimeout time.Duration
}

// WithDefaults fills in defaults.
func (e Endpoint) WithDefaults() Endpoint {
	e.MaxConnections = cmp.Or(e.MaxConnections, DefaultMaxConnections)
	e.IdleTimeout = cmp.Or(e.IdleTimeout, time.Hour)
	e.MessageTimeout = cmp.Or(e.MessageTimeout, time.Minute)
	return e
}

// TLS names the files of a TLS listener. The zero value is no TLS.
type TLS struct {
	// Cert and Key are PEM files; both or neither are given.
	Cert, Key string
	// ClientCA is a PEM file of authorities: every client must present a certificate of one of
	// them.
	ClientCA string
}

// Config returns the configuration of a listener, which reads the files again after they change, and logs why if it cannot. protocols
// are those that it negotiates, none if they are not negotiated. It returns nil if t is the zero value.
func (t TLS) Config(log *slog.Logger, protocols ...string) (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil //nolint:nilnil // nil is a configuration too
	}
	if t.Cert == "" || t.Key == "" {
		return nil, errors.New("TLS requires a certificate and a key")
	}
	server, err := certs.NewServer(certs.Files(t), log, protocols...)
	if err != nil {
		return nil, err
	}
	return server.Config(), nil
}

// Stream opens a listener. The address is HOST:PORT, with loopback as the default host, or a socket file
// if network is "unix". A socket file without a listener is replaced. config may be nil.
func Stream(ctx context.Context, network, address string, config *tls.Config) (net.Listener, error) {
	address, err := toBind(ctx, network, address)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, network, address)
	if err != nil {
		return nil, bind.Error(address, err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l, nil
}

// Packets opens a datagram socket: network is "udp" or "unixgram".
func Packets(ctx context.Context, network, address string) (net.PacketConn, error) {
	address, err := toBind(ctx, network, address)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, bind.Error(address, err)
	}
	return c, nil
}

// CheckAddress validates a TCP or UDP address (HOST:PORT, the host may be empty) as far as possible
// without binding.
func CheckAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q: want HOST:PORT, or :PORT for the loopback interface", address)
	}
	if n, err := strconv.Atoi(port); err == nil {
		if n < 0 || n > 65535 {
			return fmt.Errorf("%q: want a port from 0 to 65535", address)
		}
		return nil
	}
	if _, err := net.LookupPort("tcp", port); err != nil || port == "" { //nolint:noctx // it reads a file at most
		return fmt.Errorf("%q: want a port from 0 to 65535", address)
	}
	return nil
}

// Loopback returns an address with 127.0.0.1 as the host if it contains no host.
func Loopback(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// toBind returns the address to bind: HOST:PORT with a host, or a socket file that does not exist.
func toBind(ctx context.Context, network, address string) (string, error) {
	if strings.HasPrefix(network, "unix") {
		return address, removeStale(ctx, network, address)
	}
	return Loopback(address), nil
}

// removeStale removes a socket file without a listener.
func removeStale(ctx context.Context, network, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return bind.Error(path, err)
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("cannot listen on %s: a file with this name exists and is not a socket", path)
	}
	var d net.Dialer
	if c, err := d.DialContext(ctx, network, path); err == nil {
		_ = c.Close()
		return bind.Error(path, syscall.EADDRINUSE)
	}
	return os.Remove(path)
}

// Serve accepts connections until ctx ends and calls handle for each in its own goroutine, for at most
// limit at a time; 0 is [DefaultMaxConnections]. After ctx has ended, it also passes on the connections that
// wait to be accepted: 4,096 of them, and more for two seconds. It does not do so with TLS, where nothing was
// sent before the handshake. Then it closes the listener. It closes each connection after its handle has
// returned, which must be soon after the end of ctx, and waits for all of them. An error is one of the
// listener.
func Serve(ctx context.Context, l net.Listener, limit int, handle func(context.Context, net.Conn)) error {
	if limit <= 0 {
		limit = DefaultMaxConnections
	}
	s := &server{listener: l, handle: handle, slots: make(chan struct{}, limit)}
	defer s.all.Wait()
	stop := context.AfterFunc(ctx, s.interrupt)
	defer func() {
		stop()
		_ = l.Close()
	}()
	return s.serve(ctx)
}

// server is a listener that is served.
type server struct {
	listener net.Listener
	handle   func(context.Context, net.Conn)
	slots    chan struct{}
	all      sync.WaitGroup
}

// interruptible is a listener whose Accept can be interrupted without closing it.
type interruptible interface {
	SetDeadline(at time.Time) error
}

// interrupt ends accepting.
func (s *server) interrupt() {
	if l, ok := s.listener.(interruptible); !ok || l.SetDeadline(time.Unix(1, 0)) != nil {
		_ = s.listener.Close()
	}
}

func (s *server) serve(ctx context.Context) error {
	for delay := time.Duration(0); ; {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			s.drain(ctx)
			return nil
		}
		c, err := s.listener.Accept()
		if err == nil {
			delay = 0
			s.start(ctx, c)
			continue
		}
		<-s.slots
		if ctx.Err() != nil {
			s.drain(ctx)
			return nil //nolint:nilerr // the end
		}
		if !isTemporary(err) {
			return fmt.Errorf("accept on %s: %w", s.listener.Addr(), err)
		}
		// probably out of file descriptors: closed connections free some
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		_ = retry.Sleep(ctx, delay)
	}
}

// start handles a connection, which has a slot, in a new goroutine.
func (s *server) start(ctx context.Context, c net.Conn) {
	s.all.Go(func() {
		defer func() {
			_ = c.Close()
			<-s.slots
		}()
		s.handle(ctx, c)
	})
}

// drain handles the connections that wait to be accepted after ctx has ended. Their senders may already have sent all records.
func (s *server) drain(ctx context.Context) {
	l, ok := s.listener.(interruptible)
	if !ok {
		return
	}
	end := time.Now().Add(maxDrainTime)
	late := time.NewTimer(maxDrainTime)
	defer late.Stop()
	// Connections that already wait are accepted even if this process was suspended for longer than maxDrainTime.
	for n := 0; isReadable(s.listener) && (n < maxWaiting || time.Now().Before(end)) && l.SetDeadline(time.Now().Add(maxDrainTime)) == nil; n++ {
		select {
		case s.slots <- struct{}{}:
		default:
			select {
			case s.slots <- struct{}{}:
			case <-late.C:
				return
			}
		}
		c, err := s.listener.Accept()
		if err == nil {
			s.start(ctx, c)
			continue
		}
		<-s.slots
		if !errors.Is(err, os.ErrDeadlineExceeded) { // interrupt may set the deadline only now
			return
		}
	}
}

// isTemporary reports whether Accept may succeed later.
func isTemporary(err error) bool { return !errors.Is(err, net.ErrClosed) }
