package input

import (
	"log/slog"
	"strings"
	"sync"

	"logstow/blobnaming"
	"logstow/internal/logging"
)

// DefaultMaxServices is the default number of distinct services that the senders of an input can create.
const DefaultMaxServices = 100

// Services limits the number of services that senders can create. Safe for concurrent use.
type Services struct {
	limit int
	log   *slog.Logger

	mu     sync.Mutex
	seen   map[string]bool
	logged bool
}

// NewServices makes Services of at most limit; 0 is [DefaultMaxServices]. log may be nil.
func NewServices(limit int, log *slog.Logger) *Services {
	if limit <= 0 {
		limit = DefaultMaxServices
	}
	log = logging.OrDiscard(log)
	return &Services{limit: limit, log: log}
}

// Admit returns the service for a name that a sender gave. It returns "", which means the configured service, if the
// name is empty or has no valid characters, and for a new service at the limit.
func (s *Services) Admit(name string) string {
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
			s.log.Warn("too many services from senders: records of further services get the configured service",
				"limit", s.limit, "first", name)
		}
		return ""
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	return name
}

// CleanService is [blobnaming.CleanService] of a name that a sender gave. The result is also "" for unknown_service, which senders of
// OpenTelemetry and Loki use by default.
func CleanService(name string) string {
	if strings.HasPrefix(name, "unknown_service") {
		return ""
	}
	return blobnaming.CleanService(name)
}
