package azure

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"logstow/internal/hint"
	"logstow/store"
)

// Credential identifies the account and the caller. The first of Key, Signatures, SASFile, SAS and Token
// that is set is used; if none is set, a token of the kind in Auth.
type Credential struct {
	// Account is the storage account's name.
	Account string
	// BlobEndpoint and TableEndpoint are the services' addresses, without query
	// and final slash, for example https://ACCOUNT.blob.core.windows.net. The container may follow.
	BlobEndpoint, TableEndpoint string
	// Auth is the requested kind of credential; "" is [AuthAuto].
	Auth Auth
	// Key is the account key, base64.
	Key Secret
	// SAS is a shared access signature as a query string, without '?'.
	SAS Secret
	// SASFile is a file that contains a SAS. It is reread when it changes, and regularly near the
	// expiry of its SAS.
	SASFile string
	// Signatures are another source of shared access signatures.
	Signatures Signatures
	// Identity configures how tokens are obtained.
	Identity Identity
	// APIVersion is the version of the services that requests name (x-ms-version), as YYYY-MM-DD, for clouds and emulators that
	// support only older ones; "" is that of the SDKs.
	APIVersion string
	// Quoted are the variables whose values had quotes around them, which [FromEnv] removed.
	Quoted string
	// Token is a source of tokens that is used instead of Auth.
	Token azcore.TokenCredential
}

// FromEnv finds the credential in the standard variables; the first of these is used:
//
//   - AZURE_STORAGE_CONNECTION_STRING
//   - AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY
//   - AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_SAS_TOKEN_FILE or AZURE_STORAGE_SAS_TOKEN
//   - AZURE_STORAGE_ACCOUNT alone: DefaultAzureCredential
//
// [AuthEnv] requests one kind of credential; others that are set are then ignored. AZURE_STORAGE_BLOB_ENDPOINT and
// AZURE_STORAGE_TABLE_ENDPOINT replace the addresses of any of them, AZURE_STORAGE_ENDPOINT_SUFFIX the domain of those derived from an
// account's name. [APIVersionEnv] sets the version of the services. getenv is os.Getenv or a substitute; a pair of quotes around a
// value is removed. The error is of class [store.ErrAccessDenied] and contains no secret.
func FromEnv(getenv func(string) string) (Credential, error) {
	var quoted []string
	cred, err := fromEnv(func(name string) string {
		value, ok := unquote(getenv(name))
		if ok {
			quoted = append(quoted, name)
		}
		return value
	})
	cred.Quoted = strings.Join(quoted, ", ")
	if err != nil {
		return Credential{}, &store.Error{
			Op: "find", Object: "Azure credential", Class: store.ErrAccessDenied, Err: err,
		}
	}
	return cred, nil
}

func fromEnv(getenv func(string) string) (Credential, error) {
	auth, err := ParseAuth(getenv(AuthEnv))
	if err != nil {
		return Credential{}, fmt.Errorf("%s: %w", AuthEnv, err)
	}
	given := endpoints{
		blob: getenv("AZURE_STORAGE_BLOB_ENDPOINT"), table: getenv("AZURE_STORAGE_TABLE_ENDPOINT"),
		suffix: getenv("AZURE_STORAGE_ENDPOINT_SUFFIX"),
	}
	var cred Credential
	connection := getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection != "" {
		if cred, given, err = parseConnectionString(connection, given); err != nil {
			return Credential{}, fmt.Errorf("AZURE_STORAGE_CONNECTION_STRING: %w", err)
		}
	}
	if connection == "" || auth != AuthAuto {
		cred.addEnv(getenv)
	}
	if cred.Account == "" && connection == "" {
		return Credential{}, hint.Wrap(errors.New("no storage account is given"), "set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT "+
			"(with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or alone for a managed identity or az login)")
	}
	if err := cred.choose(auth); err != nil {
		return Credential{}, err
	}
	if connection != "" && auth == AuthAuto && cred.anonymous() {
		return Credential{}, hint.Wrap(errors.New("AZURE_STORAGE_CONNECTION_STRING contains neither AccountKey nor SharedAccessSignature"),
			"for a managed identity or az login set only AZURE_STORAGE_ACCOUNT")
	}
	if cred.APIVersion, err = parseAPIVersion(getenv(APIVersionEnv)); err != nil {
		return Credential{}, fmt.Errorf("%s: %w", APIVersionEnv, err)
	}
	if cred, err = cred.withEndpoints(given); err != nil && connection != "" {
		err = fmt.Errorf("AZURE_STORAGE_CONNECTION_STRING: %w", err)
	}
	return cred, err
}

// addEnv adds what is missing in a connection string.
func (c *Credential) addEnv(getenv func(string) string) {
	c.Account = or(c.Account, getenv("AZURE_STORAGE_ACCOUNT"))
	if !c.Key.Set() {
		c.Key = NewSecret(getenv("AZURE_STORAGE_KEY"))
	}
	if !c.SAS.Set() {
		c.SASFile = getenv("AZURE_STORAGE_SAS_TOKEN_FILE")
		c.SAS = newSAS(getenv("AZURE_STORAGE_SAS_TOKEN"))
	}
	c.Identity = identityFromEnv(getenv)
}

// choose removes all credentials except the one to use.
func (c *Credential) choose(auth Auth) error {
	c.Auth = auth
	switch {
	case auth == AuthKey && !c.Key.Set():
		return hint.Wrap(errors.New("auth key: no account key is given"), "set AZURE_STORAGE_KEY, or a connection string with AccountKey")
	case auth == AuthSAS && !c.SAS.Set() && c.SASFile == "":
		return hint.Wrap(errors.New("auth sas: no shared access signature is given"),
			"set AZURE_STORAGE_SAS_TOKEN_FILE or AZURE_STORAGE_SAS_TOKEN, or a connection string with SharedAccessSignature")
	}
	if auth == AuthSAS || auth.usesToken() {
		c.Key = Secret{}
	}
	if c.Key.Set() || auth.usesToken() {
		c.SAS, c.SASFile = Secret{}, ""
	}
	if c.SASFile != "" {
		c.SAS = Secret{}
	}
	if !c.anonymous() {
		c.Identity = Identity{}
	}
	return nil
}

// AccountName is the account's name; if only an address is known, the first part of its host.
func (c Credential) AccountName() string {
	if c.Account != "" {
		return c.Account
	}
	u, err := url.Parse(c.BlobEndpoint)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(u.Hostname(), ".")
	return name
}

// anonymous reports whether there is no credential.
func (c Credential) anonymous() bool { return !c.Key.Set() && !c.signed() && c.Token == nil }

// signed reports whether requests carry a shared access signature.
func (c Credential) signed() bool { return c.SAS.Set() || c.SASFile != "" || c.Signatures != nil }

// signatures are the signatures to use, nil if there are none.
func (c Credential) signatures() Signatures {
	switch {
	case c.Key.Set():
		return nil
	case c.Signatures != nil:
		return c.Signatures
	case c.SASFile != "":
		return newSASFile(c.SASFile)
	case c.SAS.Set():
		return fixedSAS{c.SAS}
	default:
		return nil
	}
}

// check validates a credential before anything is sent.
func (c Credential) check() error {
	for _, e := range [2]struct{ name, url string }{{"blob", c.BlobEndpoint}, {"table", c.TableEndpoint}} {
		u, err := url.Parse(e.url)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%s endpoint: not an http or https address", e.name)
		}
		if u.RawQuery != "" || u.User != nil {
			return fmt.Errorf("%s endpoint: must be an address without a query or a password; give the SAS separately", e.name)
		}
		if u.Scheme == "http" && !c.Key.Set() && !c.signed() {
			return fmt.Errorf("%s endpoint: tokens are sent to https only", e.name)
		}
	}
	if c.Key.Set() {
		if c.Account == "" {
			return errors.New("an account key is given without the account's name")
		}
		if _, err := base64.StdEncoding.DecodeString(c.Key.Reveal()); err != nil {
			return errors.New("the account key is not base64: copy it whole, with the = at its end")
		}
	}
	if c.SAS.Set() {
		return checkSAS(c.SAS)
	}
	return nil
}
