package azure

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"logstow/internal/limited"
)

const redacted = "[redacted]"

// maxToken is the maximum size of a file with a token, in bytes.
const maxToken = 1 << 20

// Secret is a string that prints as "[redacted]" in every format; only [Secret.Reveal] returns it.
// The zero value has no secret.
type Secret struct {
	value *string // a pointer, so that %v of a struct around it shows no text either
}

// NewSecret wraps s; the empty string gives the zero value.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{&s}
}

// Set reports whether there is a secret.
func (s Secret) Set() bool { return s.value != nil }

// Reveal is the secret itself, "" if there is none.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return "azure.Secret(" + s.String() + ")" }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// A scrubber redacts secrets from text of other origin.
type scrubber struct {
	// known returns the credential's current secrets.
	known func() []string
	// named matches the name of a secret with its value, token matches text with the form of a token.
	named, token *regexp.Regexp
}

// scrubber redacts the credential's secrets for a container and, for a SAS, its signature in all its encodings.
func (c Credential) scrubber(container string) scrubber {
	return scrubber{
		known: func() []string { return c.secrets(container) },
		named: regexp.MustCompile(`(?i)\b(sig|AccountKey|SharedAccessSignature|client_secret|client_assertion|access_token|refresh_token)(=|["']\s*:\s*["'])[^&;\s"'<>,]+`),
		token: regexp.MustCompile(`(?i)\b(bearer\s+)?\beyJ[\w-]+\.[\w-]+\.[\w-]*|\bbearer\s+[\w.~+/-]{16,}=*`),
	}
}

// secrets are the credential's current secrets for a container.
func (c Credential) secrets(container string) []string {
	all := []string{c.Key.Reveal(), c.Identity.Secret.Reveal()}
	if s := c.signatures(); s != nil {
		for _, get := range [2]func() (Secret, error){
			func() (Secret, error) { return s.Blobs(container) }, func() (Secret, error) { return s.Table("") },
		} {
			sas, err := get()
			if err != nil {
				continue // an unreadable SAS was not sent
			}
			all = append(all, sas.Reveal())
			if values, err := url.ParseQuery(sas.Reveal()); err == nil {
				sig := values.Get("sig")
				all = append(all, url.QueryEscape(sig), url.PathEscape(sig), sig)
			}
		}
	}
	if c.Identity.TokenFile != "" {
		if token, err := limited.Regular(c.Identity.TokenFile, maxToken); err == nil {
			all = append(all, strings.TrimSpace(string(token)))
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

func (s scrubber) text(t string) string {
	for _, secret := range s.known() {
		t = strings.ReplaceAll(t, secret, redacted)
	}
	return s.token.ReplaceAllString(s.named.ReplaceAllString(t, "$1$2"+redacted), redacted)
}

// err returns e if its text contains no secret, otherwise an error with only the redacted text. It drops the
// address of a *url.Error, which contains the SAS.
func (s scrubber) err(e error) error {
	var u *url.Error
	if errors.As(e, &u) {
		e = u.Err
	}
	if clean := s.text(e.Error()); clean != e.Error() {
		return errors.New(clean)
	}
	return e
}
