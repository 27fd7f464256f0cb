package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateInterval is the interval between looks at the files.
const certificateInterval = time.Second

// certificate is a certificate in files, read again when they change. A pair that cannot be read leaves the one before.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	seen    [2]os.FileInfo // the files that were read or rejected last
}

func newCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log}
	return c, c.reload()
}

// config is the TLS configuration of the server.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateInterval {
		if c.looked = now; c.changed() {
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

func (c *certificate) read() error {
	c.seen = c.files()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("cannot read the certificate of %s: %w", c.cert, err)
	}
	c.current = &pair
	return nil
}

// changed reports whether the files are others than those seen. The time alone does not tell: the clock of a file system may tick so
// slowly that a file that was seen half written has the same when it is complete.
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

// files are the files as they are now; nil for one that is not there.
func (c *certificate) files() (all [2]os.FileInfo) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			all[i] = info
		}
	}
	return all
}
