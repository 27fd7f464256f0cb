package httpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"logstow/internal/logging"
	"logstow/internal/units"
)

// Login holds the accepted credentials. The zero value accepts all requests.
type Login struct {
	// Users maps users to passwords, for the scheme Basic.
	Users map[string]string
	// Tokens are for the scheme Bearer, and for ApiKey of Elasticsearch's clients.
	Tokens []string
}

// CheckToken rejects what cannot be a token.
func CheckToken(token string) error {
	if token == "" {
		return errors.New("a token is empty")
	}
	return nil
}

// String returns a text without the secrets.
func (l Login) String() string {
	return fmt.Sprintf("%s, %s", units.Count(len(l.Users), "user"), units.Count(len(l.Tokens), "token"))
}

// GoString is like String.
func (l Login) GoString() string { return l.String() }

// credentials holds digests of the credentials of a Login. All have the same length.
type credentials [][sha256.Size]byte

func (l Login) credentials() (all credentials) {
	for user, password := range l.Users {
		all = append(all, digest("basic", user, password))
	}
	for _, token := range l.Tokens {
		all = append(all, digest("token", "", token))
	}
	return all
}

func digest(kind, user, secret string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s", kind, len(user), user, secret))
}

// accept reports whether a request has one of the credentials, in constant time.
func (c credentials) accept(r *http.Request) bool {
	header := r.Header.Get("Authorization")
	var sent [sha256.Size]byte
	if user, password, ok := r.BasicAuth(); ok {
		sent = digest("basic", user, password)
	} else if scheme, token, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "ApiKey") {
		sent = digest("token", "", strings.TrimSpace(token))
	}
	found := 0
	for i := range c {
		found |= subtle.ConstantTimeCompare(c[i][:], sent[:])
	}
	return found == 1
}

// login responds with 401 to requests without valid credentials, and with UNAUTHENTICATED to gRPC calls.
func (s *Server) login(next http.Handler) http.Handler {
	accepted := s.opts.Login.credentials()
	if len(accepted) == 0 {
		return next
	}
	var logLimit logging.Limiter
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted.accept(r) {
			next.ServeHTTP(w, r)
			return
		}
		if s.opts.Denied != nil {
			s.opts.Denied.Add(1)
		}
		reason := "wrong password or token"
		if r.Header.Get("Authorization") == "" {
			reason = "no credentials"
		}
		if logLimit.Allow() {
			s.opts.Log.Warn("HTTP request rejected: login failed", "address", s.Addr().String(), "from", r.RemoteAddr, "reason", reason)
		}
		if isCall(r) {
			const unauthenticated = "16"
			rejectCall(w, r, unauthenticated, reason)
			return
		}
		h := w.Header()
		h.Add("WWW-Authenticate", `Basic realm="logstow", charset="UTF-8"`)
		h.Add("WWW-Authenticate", `Bearer realm="logstow"`)
		http.Error(w, reason, http.StatusUnauthorized)
	})
}
