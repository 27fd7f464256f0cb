package access

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// The names of the cookie of a login. Browsers send the second over HTTPS only, and accept it only from the host itself.
const (
	plainCookie  = "logstow"
	secureCookie = "__Host-logstow"
)

// maxSecret is the maximum length of a secret in a request, in bytes.
const maxSecret = 1024

// Presented returns the secret of a request, or "" if there is none: the token of "Authorization: Bearer", the password of
// "Authorization: Basic", or the value of the login cookie. header reports whether the request has an Authorization header, which
// a page of another site cannot add.
func Presented(r *http.Request) (secret string, header bool) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		if len(values) > 1 {
			return "", true
		}
		return headerSecret(r, values[0]), true
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

// headerSecret returns the secret of the Authorization header with a value.
func headerSecret(r *http.Request, value string) (secret string) {
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

// SetCookie sets the login cookie to a secret, until the browser is closed. secure is set if clients use HTTPS.
func SetCookie(w http.ResponseWriter, secret string, secure bool) {
	http.SetCookie(w, cookie(base64.RawURLEncoding.EncodeToString([]byte(secret)), secure, 0))
}

// ClearCookie deletes the login cookie.
func ClearCookie(w http.ResponseWriter, secure bool) {
	http.SetCookie(w, cookie("", secure, -1))
}

func cookie(value string, secure bool, age int) *http.Cookie {
	c := &http.Cookie{
		Name:     plainCookie,
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   secure,
		SameSite: http.SameSiteStrictMode,
	}
	if secure {
		c.Name = secureCookie
	}
	return c
}
