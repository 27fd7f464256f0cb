package certs

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"logstow/internal/logging"
)

// checkInterval is the minimum interval between checks of a server's files.
const checkInterval = time.Second

// Files are the PEM files of a server.
type Files struct {
	// Cert and Key are the certificate and its key.
	Cert, Key string
	// ClientCA has authorities: every client must present a certificate of one of them. "" requires none.
	ClientCA string
}

// Server is the TLS configuration of a server from files, which are read again after they change. If they cannot be read then,
// the previous configuration remains in use, and the reason is logged. It is safe for concurrent use.
type Server struct {
	files     Files
	protocols []string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Config
	checked time.Time
	seen    [3]os.FileInfo // of the files when they were last read
	warned  bool           // that the current certificate is not valid
}

// NewServer reads the files. protocols are those that the server offers for negotiation (ALPN), in order of preference. A nil
// log discards.
func NewServer(files Files, log *slog.Logger, protocols ...string) (*Server, error) {
	s := &Server{files: files, protocols: protocols, log: logging.OrDiscard(log)}
	return s, s.Reload()
}

// Config returns the configuration for a listener. Each handshake uses the files of that time.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: s.protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.get(), nil },
	}
}

func (s *Server) get() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) >= checkInterval {
		if s.checked = now; s.changed() {
			if err := s.read(); err != nil {
				s.log.Error("reload rejected; keeping the old certificate", "error", err)
			}
		}
		s.checkDates(now)
	}
	return s.current
}

// Reload reads the files. After an error the previous configuration remains in use.
func (s *Server) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read()
}

// read is Reload with the lock held.
func (s *Server) read() error {
	s.seen = s.infos()
	pair, err := tls.LoadX509KeyPair(s.files.Cert, s.files.Key)
	if err != nil {
		return fmt.Errorf("cannot read the certificate of %s: %w", s.files.Cert, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: s.protocols, Certificates: []tls.Certificate{pair}}
	if s.files.ClientCA != "" {
		if config.ClientCAs, err = Only(s.files.ClientCA); err != nil {
			return fmt.Errorf("cannot read the authorities of clients: %w", err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	s.current, s.warned = config, false
	s.checkDates(time.Now())
	return nil
}

// checkDates warns once of a certificate that has expired or is not valid yet. It is used all the same: clients decide.
func (s *Server) checkDates(now time.Time) {
	var err error
	switch leaf := s.current.Certificates[0].Leaf; {
	case now.After(leaf.NotAfter):
		err = fmt.Errorf("%s expired at %s", s.files.Cert, leaf.NotAfter.Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		err = fmt.Errorf("%s is valid from %s", s.files.Cert, leaf.NotBefore.Format(time.RFC3339))
	}
	if err != nil && !s.warned {
		s.warned = true
		s.log.Warn("clients reject the certificate", "error", err, "hint", "replace it: it is read again without a restart")
	}
}

// changed reports whether the files differ from those seen. It does not compare modification times alone: a file system may have
// such coarse times that a half-written file has the same time when it is complete.
func (s *Server) changed() bool {
	for i, now := range s.infos() {
		seen := s.seen[i]
		switch {
		case now == nil && seen == nil:
		case now == nil || seen == nil || !os.SameFile(now, seen) || !now.ModTime().Equal(seen.ModTime()) || now.Size() != seen.Size():
			return true
		}
	}
	return false
}

// infos returns information about the files; nil for a file that is not configured or cannot be read.
func (s *Server) infos() (all [3]os.FileInfo) {
	for i, name := range []string{s.files.Cert, s.files.Key, s.files.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			all[i] = info
		}
	}
	return all
}
