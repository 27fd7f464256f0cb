package azure

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"logstow/store"
)

// Credential says which account is used, and who asks. At most one of Key, SAS
// and Token is set; none of them means DefaultAzureCredential: workload
// identity, managed identity, az login and the like, by Azure's own variables.
type Credential struct {
	// Account is the storage account's name.
	Account string
	// BlobEndpoint and TableEndpoint are the services' addresses, without query
	// and final slash, for example https://ACCOUNT.blob.core.windows.net.
	BlobEndpoint, TableEndpoint string
	// Key is the account's key, base64.
	Key Secret
	// SAS is a shared access signature as a query string, without '?'.
	SAS Secret
	// Token is another source of tokens than DefaultAzureCredential.
	Token azcore.TokenCredential
}

// FromEnv finds the credential in the ecosystem's own variables; the first of
// these wins:
//
//   - AZURE_STORAGE_CONNECTION_STRING
//   - AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY
//   - AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_SAS_TOKEN
//   - AZURE_STORAGE_ACCOUNT alone: DefaultAzureCredential
//
// AZURE_STORAGE_BLOB_ENDPOINT and AZURE_STORAGE_TABLE_ENDPOINT replace the
// addresses of any of them. getenv is os.Getenv or a stand-in. The error is of
// class [store.ErrRefused] and holds no secret.
func FromEnv(getenv func(string) string) (Credential, error) {
	cred, err := fromEnv(func(name string) string { return strings.TrimSpace(getenv(name)) })
	if err != nil {
		return Credential{}, &store.Error{
			Op: "find", Object: "Azure credential", Class: store.ErrRefused, Err: err,
		}
	}
	return cred, nil
}

func fromEnv(getenv func(string) string) (Credential, error) {
	blob, table := getenv("AZURE_STORAGE_BLOB_ENDPOINT"), getenv("AZURE_STORAGE_TABLE_ENDPOINT")
	if connection := getenv("AZURE_STORAGE_CONNECTION_STRING"); connection != "" {
		cred, err := parseConnectionString(connection, blob, table)
		if err != nil {
			return Credential{}, fmt.Errorf("AZURE_STORAGE_CONNECTION_STRING: %w", err)
		}
		return cred, nil
	}
	cred := Credential{Account: getenv("AZURE_STORAGE_ACCOUNT")}
	if cred.Account == "" {
		return Credential{}, errors.New("set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT " +
			"(with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or alone for a managed identity or az login)")
	}
	if key := getenv("AZURE_STORAGE_KEY"); key != "" {
		cred.Key = NewSecret(key)
	} else {
		cred.SAS = NewSecret(strings.TrimPrefix(getenv("AZURE_STORAGE_SAS_TOKEN"), "?"))
	}
	return cred.withEndpoints(endpoints{blob: blob, table: table})
}

// anonymous reports whether nothing says who asks.
func (c Credential) anonymous() bool { return !c.Key.Set() && !c.SAS.Set() && c.Token == nil }

// check says what is wrong with a credential, before anything is sent.
func (c Credential) check() error {
	for _, e := range [2]struct{ name, url string }{{"blob", c.BlobEndpoint}, {"table", c.TableEndpoint}} {
		u, err := url.Parse(e.url)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%s endpoint: not an http or https address", e.name)
		}
		if u.RawQuery != "" || u.User != nil {
			return fmt.Errorf("%s endpoint: must be an address without a query or a password: give the SAS by itself", e.name)
		}
		if u.Scheme == "http" && !c.Key.Set() && !c.SAS.Set() {
			return fmt.Errorf("%s endpoint: tokens are sent to https only", e.name)
		}
	}
	if c.Key.Set() {
		if c.Account == "" {
			return errors.New("an account key needs the account's name")
		}
		if _, err := base64.StdEncoding.DecodeString(c.Key.Reveal()); err != nil {
			return errors.New("the account key is not base64: copy it whole, with the = at its end")
		}
	}
	if c.SAS.Set() {
		values, err := url.ParseQuery(c.SAS.Reveal())
		if err != nil || values.Get("sig") == "" {
			return errors.New("the shared access signature has no sig= in it: copy it whole, as the query string that follows '?'")
		}
	}
	return nil
}
