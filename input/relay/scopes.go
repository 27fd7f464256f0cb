package relay

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// scopes are what tokens allow. Nil allows everything.
type scopes []scope

// scope is what one token allows.
type scope struct {
	token    [sha256.Size]byte
	patterns []pattern
}

// pattern matches a service and a class.
type pattern struct{ service, class string }

func newScopes(tokens map[string]string) (all scopes, err error) {
	for text, token := range tokens {
		s := scope{token: sha256.Sum256([]byte(token))}
		for one := range strings.SplitSeq(text, ",") {
			p := pattern{class: "*"}
			one = strings.TrimSpace(one)
			if service, class, ok := strings.Cut(one, ":"); ok {
				p.service, p.class = service, class
			} else {
				p.service = one
			}
			_, errService := path.Match(p.service, "")
			_, errClass := path.Match(p.class, "")
			if p.service == "" || errService != nil || errClass != nil {
				return nil, fmt.Errorf("tokens: %q is not SERVICE or SERVICE:CLASS, with wildcards, such as api-*:audit", one)
			}
			s.patterns = append(s.patterns, p)
		}
		if i := slices.IndexFunc(all, func(known scope) bool { return known.token == s.token }); i >= 0 {
			all[i].patterns = append(all[i].patterns, s.patterns...)
			continue
		}
		all = append(all, s)
	}
	return all, nil
}

// of returns the scope of a request, nil if it may send everything. It is not ok if the token of the request is unknown.
func (all scopes) of(r *http.Request) (found *scope, ok bool) {
	if len(all) == 0 {
		return nil, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, false
	}
	sent := sha256.Sum256([]byte(strings.TrimSpace(token)))
	for i := range all {
		if subtle.ConstantTimeCompare(all[i].token[:], sent[:]) == 1 {
			found = &all[i]
		}
	}
	return found, found != nil
}

// follows reports whether the watches on a service may be read: records of the service may be sent, of any class.
func (s *scope) follows(service string) bool {
	return s == nil || slices.ContainsFunc(s.patterns, func(p pattern) bool {
		ok, _ := path.Match(p.service, service)
		return ok
	})
}

// allows reports whether records of a service and class may be sent.
func (s *scope) allows(service, class string) bool {
	if s == nil {
		return true
	}
	for _, p := range s.patterns {
		ofService, _ := path.Match(p.service, service) // the patterns are valid
		ofClass, _ := path.Match(p.class, class)
		if ofService && ofClass {
			return true
		}
	}
	return false
}
