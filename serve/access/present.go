package access

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// Cookies of a login: the second is sent over HTTPS only, and browsers take it from this host only.
const (
	plainCookie  = "logstow"
	secureCookie = "__Host-logstow"
)

// maxSecret is the maximum length of what a request presents, in bytes.
const maxSecret = 1024

// Presented is the secret of a request, "" if it has none: that of "Authorization: Bearer", the password of "Basic", or that of
// the cookie of a login. header reports whether it is in a header that a page of another site cannot add.
func Presented(r *http.Request) (secret string, header bool) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		if len(values) > 1 {
			return "", true
		}
		return ofHeader(r, values[0]), true
	}
	for _, name := range []string{secureCookie, plainCookie} {
		if c, err := r.Cookie(name); err == nil {
			text, err := base64.RawURLEncoding.DecodeString(c.Value)
			if err != nil || len(text) > maxSecret {
				return "", false
			}
			return string(text), false
		}
	}
	return "", false
}

func ofHeader(r *http.Request, value string) (secret string) {
	if scheme, rest, _ := strings.Cut(value, " "); strings.EqualFold(scheme, "Bearer") {
		secret = strings.TrimSpace(rest)
	} else if _, password, ok := r.BasicAuth(); ok {
		secret = password
	}
	if len(secret) > maxSecret {
		return ""
	}
	return secret
}

// SetCookie makes a browser present a secret until it is closed. secure is for connections by HTTPS.
func SetCookie(w http.ResponseWriter, secret string, secure bool) {
	http.SetCookie(w, cookie(base64.RawURLEncoding.EncodeToString([]byte(secret)), secure, 0))
}

// ClearCookie makes a browser delete the cookie of the secret.
func ClearCookie(w http.ResponseWriter, secure bool) {
	http.SetCookie(w, cookie("", secure, -1))
}

func cookie(value string, secure bool, age int) *http.Cookie {
	c := &http.Cookie{Name: plainCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
	if secure {
		c.Name = secureCookie
	}
	return c
}
