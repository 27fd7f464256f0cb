package serve

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"logstow/serve/access"
)

// isLoopback reports whether a host, without a port, is this machine for certain. Other names than localhost depend on DNS.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// hostname is a host without port, brackets and the dot of the root.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

// A rejection is the reason why a request is rejected, as a label of a metric; "" is none.
type rejection string

const (
	badHost   rejection = "host"
	crossSite rejection = "cross_site"
	badOrigin rejection = "origin"
)

// text is what the client gets.
func (r rejection) text() string {
	switch r {
	case badHost:
		return "the Host of the request is not one of this server's; see --host"
	case crossSite:
		return "requests of other sites are not allowed"
	default:
		return "the Origin of the request is not this server"
	}
}

// reject decides whether a request may be one that a browser sends for a page of another site.
//
// Without tokens, everything that reaches the server is answered, so that the name by which it was reached must be one of its
// own (a page may give its own name the address 127.0.0.1). With tokens, such a page has none: cookies belong to a name. A
// token in a header cannot be added by a page of another site either, so that the Origin does not matter then.
func (s *Server) reject(r *http.Request) rejection {
	if s.opts.Tokens == nil && !s.isOwn(hostname(r.Host)) {
		return badHost
	}
	if s.isPage(r) {
		return "" // a link of another site may lead to it
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return crossSite
	}
	if _, header := access.Presented(r); header && s.opts.Tokens != nil {
		return ""
	}
	for _, origin := range r.Header.Values("Origin") {
		if !s.sameOrigin(origin, r.Host) {
			return badOrigin
		}
	}
	return ""
}

// isPage reports whether a request is for the page.
func (s *Server) isPage(r *http.Request) bool {
	return s.opts.Page != nil && isPage(r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// isOwn reports whether a name is this server's without tokens.
func (s *Server) isOwn(host string) bool { return isLoopback(host) || s.isGiven(host) }

// isGiven reports whether a name is one of Options.Hosts.
func (s *Server) isGiven(host string) bool {
	for _, own := range s.opts.Hosts {
		if strings.EqualFold(hostname(own), host) {
			return true
		}
	}
	return false
}

// sameOrigin reports whether an Origin is the host that a request is for, or has one of the server's names, which a proxy may
// replace.
func (s *Server) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(u.Host, host) || s.isGiven(hostname(u.Host))
}
