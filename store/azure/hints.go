package azure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"logstow/store"
)

// maxSkew is how far a machine's clock may be off before storage refuses what it signs.
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
const maxSkew = 15 * time.Minute

// answerHint says what to do about an answer; "" where nothing is known.
func (f *failures) answerHint(a action, e *store.Error, header http.Header, now time.Time) string {
	if expiry, ok := f.expiry(); ok && now.After(expiry) && errors.Is(e.Class, store.ErrRefused) {
		return "the SAS expired at " + expiry.UTC().Format(time.RFC3339) + ": make a new one"
	}
	switch e.Code {
	case "AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation":
		return f.authenticationHint(header, now)
	case "AuthorizationFailure":
		return f.rightsHint(a) + "; if that is so, the account's network rules keep this machine out"
	case "KeyBasedAuthenticationNotPermitted":
		return "the account forbids keys: set AZURE_STORAGE_ACCOUNT alone and use a managed identity or az login"
	case "AuthorizationResourceTypeMismatch", "AuthorizationServiceMismatch":
		return "make an account SAS for the services blob and table (ss=bt) and the resource types service, container and object (srt=sco)"
	case "AuthorizationSourceIPMismatch":
		return "the SAS admits other addresses only (sip=)"
	case "AuthorizationProtocolMismatch":
		return "the SAS admits https only"
	case "AccountIsDisabled":
		return "enable the storage account"
	case "BlobArchived", "BlobBeingRehydrated":
		return "the blob is in the archive tier: change its tier to hot or cool and wait until it is there"
	}
	switch {
	case errors.Is(e.Class, store.ErrRefused):
		return f.rightsHint(a)
	case errors.Is(e.Class, store.ErrNoContainer):
		return "create the container " + f.container + ", or check its name and the account"
	default:
		return ""
	}
}

// authenticationHint looks for the usual reasons why storage does not believe a caller.
func (f *failures) authenticationHint(header http.Header, now time.Time) string {
	if server, err := http.ParseTime(header.Get("Date")); err == nil {
		if skew := now.Sub(server).Round(time.Second); skew.Abs() > maxSkew {
			return fmt.Sprintf("this machine's clock is off by %s: set it", skew)
		}
	}
	switch {
	case f.cred.Key.Set():
		return f.keyHint()
	case f.cred.SAS.Set():
		return "check that the SAS is whole and of this account and container, and that the key or policy behind it was not changed"
	default:
		return "check that the identity belongs to the tenant of account " + f.cred.Account
	}
}

// rightsHint names the right that an action needs.
func (f *failures) rightsHint(a action) string {
	switch {
	case f.cred.SAS.Set() && a == createContainer:
		return "this SAS may not create the container " + f.container + ": create it first"
	case f.cred.SAS.Set():
		return fmt.Sprintf("the SAS needs the permission %s for this", a.permission())
	case f.cred.Key.Set():
		return f.keyHint()
	case a.onTables():
		return "give the identity the role " + role("Storage Table Data", a)
	default:
		return "give the identity the role " + role("Storage Blob Data", a)
	}
}

func (f *failures) keyHint() string {
	return "check that the key is one of account " + f.cred.Account + ", and not rotated since"
}

func role(kind string, a action) string {
	if a.writes() {
		return kind + " Contributor"
	}
	return kind + " Reader"
}

// expiry is when the SAS ends, as far as it says.
func (f *failures) expiry() (time.Time, bool) {
	values, err := url.ParseQuery(f.cred.SAS.Reveal())
	if err != nil {
		return time.Time{}, false
	}
	// The forms that a SAS may use.
	// https://learn.microsoft.com/rest/api/storageservices/formatting-datetime-values
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
		if t, err := time.Parse(layout, values.Get("se")); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// networkHint says what to do where no answer came.
func (f *failures) networkHint(a action, err error) string {
	endpoint := f.cred.BlobEndpoint
	if a.onTables() {
		endpoint = f.cred.TableEndpoint
	}
	var dns *net.DNSError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		return "check the account's name: no address for " + endpoint
	case errors.As(err, &verify):
		return "the certificate of " + endpoint + " is not trusted here: is there a proxy between, or are root certificates missing?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + endpoint
	default:
		return "no answer from " + endpoint
	}
}
