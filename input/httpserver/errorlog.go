package httpserver

import (
	"log/slog"
	"strings"

	"logstow/internal/logging"
)

// errorLog logs what net/http reports: rejected TLS handshakes as warnings, as other inputs do, the rest for debugging.
type errorLog struct {
	log     *slog.Logger
	address string
	limit   logging.Limiter
}

// Write logs one message.
func (l *errorLog) Write(message []byte) (int, error) {
	text := strings.TrimSpace(string(message))
	handshake, ok := strings.CutPrefix(text, "http: TLS handshake error from ")
	if !ok {
		l.log.Debug(text, "address", l.address)
		return len(message), nil
	}
	if l.limit.Allow() {
		sender, reason, _ := strings.Cut(handshake, ": ")
		l.log.Warn("HTTP sender rejected", "address", l.address, "sender", sender, "error", "TLS: "+reason)
	}
	return len(message), nil
}
