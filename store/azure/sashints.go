package azure

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"logstow/store"
)

// sasFields are the fields of the SAS that an action uses; nil if there is none.
func (f *failures) sasFields(a action) url.Values {
	if f.cred.Signatures == nil {
		return nil
	}
	get := func() (Secret, error) { return f.cred.Signatures.Blobs(f.container) }
	if a.onTables() {
		get = func() (Secret, error) { return f.cred.Signatures.Table("") }
	}
	sas, err := get()
	if err != nil {
		return nil
	}
	values, err := url.ParseQuery(sas.Reveal())
	if err != nil {
		return nil
	}
	return values
}

// validityHint reports a SAS that is expired or not yet valid, by the clock of storage; "" if it is neither.
func (f *failures) validityHint(e *store.Error, now time.Time) string {
	if !errors.Is(e.Class, store.ErrAccessDenied) || !f.cred.signed() {
		return ""
	}
	sas := f.sasFields(readBlob) // those for tables are made with the same times
	if expiry, ok := sasTime(sas.Get("se")); ok && now.After(expiry) {
		return "the SAS expired at " + expiry.UTC().Format(time.RFC3339) + ": make a new one"
	}
	if start, ok := sasTime(sas.Get("st")); ok && now.Before(start) {
		return "the SAS is not valid before " + start.UTC().Format(time.RFC3339) + " (st=): wait, or make one without a start"
	}
	if e.Err != nil && strings.Contains(e.Err.Error(), "time frame") {
		return "the SAS or its stored access policy is expired or not yet valid: make a new SAS, or change the policy"
	}
	return ""
}

// signedHint lists fields of the SAS that limit what it allows, as "; this one has sp=r"; "" if it has none of them.
func (f *failures) signedHint(a action, names ...string) string {
	sas := f.sasFields(a)
	var has []string
	for _, name := range names {
		if value := sas.Get(name); value != "" {
			has = append(has, name+"="+value)
		}
	}
	if len(has) == 0 {
		return ""
	}
	return "; this one has " + strings.Join(has, " ")
}

// pageHint is what to do about an HTML page instead of a response of storage.
func (f *failures) pageHint(a action) string {
	host := f.host(a)
	return "a proxy or a login page responded, not storage: allow " + host + " in it, or add " + host + " to NO_PROXY"
}

// serverTime is the time of a response, now if it has none.
func serverTime(header http.Header, now time.Time) time.Time {
	if server, err := http.ParseTime(header.Get("Date")); err == nil {
		return server
	}
	return now
}

// reportsClock reports whether a message rejects a request by its date.
func reportsClock(err error) bool {
	return err != nil && strings.Contains(strings.ToLower(err.Error()), "date header")
}
