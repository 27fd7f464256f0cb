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

// maxSkew is how far a machine's clock may be off before storage rejects its signatures.
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
const maxSkew = 15 * time.Minute

// responseHint is what to do about a response; "" if unknown. For a denied access it names the host
// and the kind of credential.
func (f *failures) responseHint(a action, e *store.Error, header http.Header, now time.Time) string {
	hint := f.hintOf(a, e, header, now)
	if errors.Is(e.Class, store.ErrAccessDenied) {
		return f.host(a) + " denied access to " + f.cred.kind() + ": " + hint
	}
	return hint
}

func (f *failures) hintOf(a action, e *store.Error, header http.Header, now time.Time) string {
	if hint := f.validityHint(e, serverTime(header, now)); hint != "" {
		return hint
	}
	switch e.Code {
	case "AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation":
		return f.authenticationHint(a, e, header, now)
	case "AuthorizationFailure":
		return f.rightsHint(a) + "; if it has that, the account's network rules exclude this machine"
	case "KeyBasedAuthenticationNotPermitted":
		return "the account forbids keys, and SAS signed with them: use a managed identity, a workload identity or az login (AZURE_STORAGE_ACCOUNT alone), " +
			"which needs " + f.roleHint(a)
	case "AuthorizationResourceTypeMismatch", "AuthorizationServiceMismatch":
		return "make an account SAS for the services blob and table (ss=bt) and the resource types service, container and object (srt=sco)" +
			f.signedHint(a, "ss", "srt", "sr")
	case "AuthorizationSourceIPMismatch":
		return "the SAS excludes this address (sip=)"
	case "AuthorizationProtocolMismatch":
		return "the SAS allows https only"
	case "InvalidHeaderValue":
		// Nothing else that requests name in headers depends on the cloud.
		return "the cloud or emulator may not support this version of the storage services yet: set " + APIVersionEnv + " to one that it supports, such as " + oldestAPIVersion +
			" (Azurite: start it with --skipApiVersionCheck)"
	case "AccountIsDisabled":
		return "enable the storage account"
	case "BlobArchived", "BlobBeingRehydrated":
		return "the blob is in the archive tier: change its tier to hot or cool and wait until it is there"
	}
	switch {
	case errors.Is(e.Class, store.ErrAccessDenied):
		return f.rightsHint(a)
	case errors.Is(e.Class, store.ErrNoContainer):
		return "create the container " + f.container + ", or check its name and the account"
	default:
		return ""
	}
}

// authenticationHint looks for the usual causes of a failed authentication.
func (f *failures) authenticationHint(a action, e *store.Error, header http.Header, now time.Time) string {
	if skew := now.Sub(serverTime(header, now)).Round(time.Second); skew.Abs() > maxSkew {
		return fmt.Sprintf("this machine's clock is off by %s: set it", skew)
	}
	switch {
	case reportsClock(e.Err):
		return fmt.Sprintf("this machine's clock is off by more than %d minutes, or a proxy delayed the request: check both",
			int(maxSkew.Minutes()))
	case f.cred.Key.Set():
		return f.keyHint()
	case f.cred.signed() && a.onTables() && f.sasFields(a).Has("sr"):
		return "tables need an account SAS for the services blob and table (ss=bt)" + f.signedHint(a, "sr")
	case f.cred.signed():
		return "check that the SAS is complete and for this account and container, and that its key or policy was not changed"
	default:
		return "check that the identity belongs to the tenant of account " + f.cred.AccountName() + ", and has " + f.roleHint(a)
	}
}

// rightsHint names the permission that an action needs.
func (f *failures) rightsHint(a action) string {
	switch {
	case f.cred.signed() && a == createContainer:
		return "this SAS may not create the container " + f.container + ": create it first"
	case f.cred.signed():
		return fmt.Sprintf("the SAS needs the permission %s for this", a.permission()) + f.signedHint(a, "sp")
	case f.cred.Key.Set():
		return f.keyHint()
	default:
		return "it needs " + f.roleHint(a)
	}
}

// roleHint names the role that an action needs, and the command that grants it.
func (f *failures) roleHint(a action) string {
	name, scope := role("Storage Blob Data", a), "/blobServices/default/containers/"+f.container
	if a.onTables() {
		name, scope = role("Storage Table Data", a), ""
	}
	switch a {
	case createContainer:
		scope = ""
	case signBlobs:
		name, scope = "Storage Blob Delegator", ""
	case readStatistics:
		name, scope = "Reader", ""
	default:
	}
	return fmt.Sprintf(`the role %s: %s (it takes effect within ten minutes)`,
		name, RoleCommand(name, or(f.tokens.facts().principal, "OBJECT-ID"), f.cred.AccountName(), scope))
}

// RoleCommand is the command that grants a role to a principal on an account, or on the scope below
// it ("" is all of it).
func RoleCommand(role, principal, account, scope string) string {
	return fmt.Sprintf(`az role assignment create --role "%s" --assignee "%s" --scope "$(az storage account show --name %s --query id --output tsv)%s"`,
		role, principal, account, scope)
}

// tokenHint is what to do if no token was issued.
func (f *failures) tokenHint() string {
	authority := or(f.cred.Identity.Authority, "the authority")
	switch f.cred.Auth {
	case AuthCLI:
		return "run az login"
	case AuthMSI:
		return "give this machine a managed identity, or name one that it has in AZURE_CLIENT_ID"
	case AuthWorkload:
		return "check AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE, and that " + authority +
			" has a federated credential of this service account"
	default:
		return "run az login, or give this machine a managed identity, or set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"
	}
}

// host is the host of an action's requests.
func (f *failures) host(a action) string {
	u, err := url.Parse(f.endpoint(a))
	if err != nil {
		return "storage"
	}
	return u.Host
}

func (f *failures) endpoint(a action) string {
	if a.onTables() {
		return f.cred.TableEndpoint
	}
	return f.cred.BlobEndpoint
}

func (f *failures) keyHint() string {
	return "check that the key is one of account " + f.cred.AccountName() + ", and was not rotated"
}

func role(kind string, a action) string {
	if a.writes() {
		return kind + " Contributor"
	}
	return kind + " Reader"
}

// expiry is when the credential expires, if known.
func (f *failures) expiry() (time.Time, bool) {
	if expiry, ok := f.sasExpiry(); ok {
		return expiry, true
	}
	expires := f.tokens.facts().expires
	return expires, !expires.IsZero()
}

// sasExpiry is when the SAS expires, if it contains that.
func (f *failures) sasExpiry() (time.Time, bool) {
	if f.cred.Signatures == nil {
		return time.Time{}, false
	}
	sas, err := f.cred.Signatures.Blobs(f.container)
	if err != nil {
		return time.Time{}, false
	}
	return sasExpiry(sas)
}

// networkHint is what to do if there was no response.
func (f *failures) networkHint(a action, err error) string {
	endpoint := f.endpoint(a)
	var dns *net.DNSError
	var verify *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "no connection through the proxy: check HTTPS_PROXY and HTTP_PROXY; NO_PROXY names hosts that need none"
	case errors.As(err, &dns):
		return "check the account's name: no address for " + endpoint
	case errors.As(err, &verify):
		return "the certificate of " + endpoint + " is not trusted: check for a proxy in between or missing root certificates; LOGSTOW_CA_FILE adds certificates"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + endpoint
	default:
		return "no response from " + endpoint
	}
}
