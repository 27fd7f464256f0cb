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
	changed [2]time.Time // of the files read or rejected last
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
		if c.looked = now; c.modified() != c.changed {
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
	c.changed = c.modified()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("cannot read the certificate of %s: %w", c.cert, err)
	}
	c.current = &pair
	return nil
}

// modified are the times of the files; zero of one that is not there.
func (c *certificate) modified() (at [2]time.Time) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			at[i] = info.ModTime()
		}
	}
	return at
}
