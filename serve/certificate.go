package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateInterval is the minimum interval between checks of the files.
const certificateInterval = time.Second

// certificate is a certificate that is read from files, again after they change. If they cannot be read, the previous
// certificate remains in use. It is safe for concurrent use.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	checked time.Time
	seen    [2]os.FileInfo // of the files when they were last read
}

func newCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log}
	return c, c.reload()
}

// config returns the TLS configuration of the server.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateInterval {
		if c.checked = now; c.changed() {
			if err := c.read(); err != nil {
				c.log.Error("reload rejected; keeping the old certificate", "error", err)
			}
		}
	}
	return c.current, nil
}

// reload reads the files.
func (c *certificate) reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

// read is reload with the lock held.
func (c *certificate) read() error {
	c.seen = c.files()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("cannot read the certificate of %s: %w", c.cert, err)
	}
	c.current = &pair
	return nil
}

// changed reports whether the files differ from those seen. It does not compare modification times alone: a file system may have
// such coarse times that a half-written file has the same time when it is complete.
func (c *certificate) changed() bool {
	for i, now := range c.files() {
		seen := c.seen[i]
		switch {
		case now == nil && seen == nil:
		case now == nil || seen == nil || !os.SameFile(now, seen) || !now.ModTime().Equal(seen.ModTime()) || now.Size() != seen.Size():
			return true
		}
	}
	return false
}

// files returns information about the files; nil for a file that cannot be read.
func (c *certificate) files() (all [2]os.FileInfo) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			all[i] = info
		}
	}
	return all
}
