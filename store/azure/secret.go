package azure

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

const redacted = "[redacted]"

// Secret is a string that prints as "[redacted]" in every way of printing; only
// [Secret.Reveal] gives it away. The zero value is no secret.
type Secret struct {
	value *string // a pointer, so that %v of a struct around it shows no text either
}

// NewSecret hides s; of an empty string it is the zero value.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{&s}
}

// Set reports whether there is a secret.
func (s Secret) Set() bool { return s.value != nil }

// Reveal is the secret itself, "" where there is none.
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

// A scrubber takes secrets out of text that came from elsewhere.
type scrubber struct {
	known *strings.Replacer
	// named finds what stands after the name of a secret.
	named *regexp.Regexp
}

// scrubber knows the credential's secrets and, for a SAS, its signature in the
// forms in which it may be written.
func (c Credential) scrubber() scrubber {
	var pairs []string
	add := func(s string) {
		if s != "" {
			pairs = append(pairs, s, redacted)
		}
	}
	add(c.Key.Reveal())
	add(c.SAS.Reveal())
	if values, err := url.ParseQuery(c.SAS.Reveal()); err == nil {
		sig := values.Get("sig")
		add(url.QueryEscape(sig))
		add(url.PathEscape(sig))
		add(sig)
	}
	return scrubber{
		known: strings.NewReplacer(pairs...),
		named: regexp.MustCompile(`(?i)\b(sig|AccountKey|SharedAccessSignature)=[^&;\s"'<>]+`),
	}
}

func (s scrubber) text(t string) string {
	return s.named.ReplaceAllString(s.known.Replace(t), "$1="+redacted)
}

// err is e where its text holds no secret, else an error with the clean text
// alone. The address in a *url.Error is dropped: it holds the SAS.
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
