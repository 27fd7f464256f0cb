package serve

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"logstow/serve/access"
)

// isLoopback reports whether a host without a port is a loopback address or localhost. Other names depend on DNS.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// hostname returns a host without its port, brackets and trailing dot.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

// rejection is the reason why a request is rejected, as a label of a metric. "" is no rejection.
type rejection string

const (
	badHost   rejection = "host"
	crossSite rejection = "cross_site"
	badOrigin rejection = "origin"
)

// text returns the message for the client.
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

// reject rejects requests that a browser may have sent on behalf of a page of another site.
//
// Without tokens, the server serves every client that reaches it, so the Host must be one of its own names: the page's site may
// have a DNS name with the address 127.0.0.1. With tokens, such a page has no token, because a cookie belongs to a host name. A
// page of another site cannot add a token in a header either, so the Origin is not checked if there is one.
func (s *Server) reject(r *http.Request) rejection {
	if s.opts.Tokens == nil && !s.isOwn(hostname(r.Host)) {
		return badHost
	}
	if s.isPage(r) {
		return "" // other sites may link to the page
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

// isOwn reports whether a name may be the Host of a request without tokens.
func (s *Server) isOwn(host string) bool { return isLoopback(host) || s.isConfigured(host) }

// isConfigured reports whether a name is one of Options.Hosts.
func (s *Server) isConfigured(host string) bool {
	for _, own := range s.opts.Hosts {
		if strings.EqualFold(hostname(own), host) {
			return true
		}
	}
	return false
}

// sameOrigin reports whether the host of an Origin is the Host of the request or one of Options.Hosts: a proxy may replace the
// Host.
func (s *Server) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return strings.EqualFold(u.Host, host) || s.isConfigured(hostname(u.Host))
}
