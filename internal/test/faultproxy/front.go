package faultproxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// front is the address that clients connect to, which can refuse connections.
type front struct {
	endpoint string
	address  string
	handler  http.HandlerFunc
	port     io.Closer

	mu     sync.Mutex
	server *http.Server // nil during an outage
	done   chan struct{}
}

// startFront listens on a free port of loopback, with the path of target.
func startFront(target *url.URL, handler http.HandlerFunc) (*front, error) {
	port, address, err := reserve()
	if err != nil {
		return nil, err
	}
	f := &front{address: address, handler: handler, port: port, endpoint: "http://" + address + target.Path}
	if err := f.up(); err != nil {
		return nil, errors.Join(err, port.Close())
	}
	return f, nil
}

func (f *front) up() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil {
		return nil
	}
	l, err := f.listen()
	if err != nil {
		return err
	}
	f.server = &http.Server{
		Handler:           f.handler,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	f.done = make(chan struct{})
	go func(s *http.Server, done chan struct{}) {
		defer close(done)
		_ = s.Serve(l) // ends with the server's Close
	}(f.server, f.done)
	return nil
}

// listenTimeout is how long listen waits for the port.
const listenTimeout = 10 * time.Second

// listen listens at the reserved port. A process that another test has forked has the listener of before until it executes its
// program, so that the port may be in use for a moment.
func (f *front) listen() (net.Listener, error) {
	for deadline := time.Now().Add(listenTimeout); ; time.Sleep(time.Millisecond) {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", f.address)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return l, err
		}
	}
}

func (f *front) down() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server == nil {
		return nil
	}
	err := f.server.Close()
	<-f.done
	f.server = nil
	return err
}

func (f *front) close() error {
	return errors.Join(f.down(), f.port.Close())
}
