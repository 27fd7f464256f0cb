package otlp

import (
	"log/slog"
	"strings"
	"sync"

	"logstow/blobnaming"
)

// services bounds the number of services that senders can create. The zero value of all fields but
// limit and log is ready to use.
type services struct {
	limit int
	log   *slog.Logger

	mu     sync.Mutex
	seen   map[string]bool
	logged bool
}

// admit is the service for a service.name, "" for the configured one.
func (s *services) admit(name string) string {
	name = CleanService(name)
	if name == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name] {
		return name
	}
	if len(s.seen) >= s.limit {
		if !s.logged {
			s.logged = true
			s.log.Warn("too many services in OpenTelemetry logs: records of further services get the configured service", "limit", s.limit, "first", name)
		}
		return ""
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	return name
}

// CleanService makes a service name of a service.name: lower case, "-" for invalid characters,
// truncated to the maximum length. It is "" if nothing is left, and for unknown_service, which SDKs
// send if none was configured.
func CleanService(name string) string {
	if strings.HasPrefix(name, "unknown_service") {
		return ""
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name, "._-")
	return strings.TrimRight(name[:min(len(name), blobnaming.MaxService)], "._-")
}
