package azure

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The values of UseDevelopmentStorage=true: the well-known account of Azurite on its usual ports.
// https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
const (
	developmentAccount = "devstoreaccount1"
	developmentKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	developmentBlob    = "http://127.0.0.1:10000/" + developmentAccount
	developmentTable   = "http://127.0.0.1:10002/" + developmentAccount
)

// defaultSuffix is the domain of accounts in Azure's public cloud.
const defaultSuffix = "core.windows.net"

// parseConnectionString parses a connection string; given values take precedence. Keys are compared
// without case, as in other SDKs; unused keys are ignored.
func parseConnectionString(s string, given endpoints) (Credential, endpoints, error) {
	values := map[string]string{}
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return Credential{}, given, errors.New("not of the form key=value;key=value")
		}
		values[strings.ToLower(key)] = value
	}
	if strings.EqualFold(values["usedevelopmentstorage"], "true") {
		given.blob, given.table = or(given.blob, developmentBlob), or(given.table, developmentTable)
		return Credential{Account: developmentAccount, Key: NewSecret(developmentKey)}, given, nil
	}
	cred := Credential{
		Account: values["accountname"],
		Key:     NewSecret(values["accountkey"]),
		SAS:     NewSecret(strings.TrimPrefix(values["sharedaccesssignature"], "?")),
	}
	return cred, endpoints{
		blob:     or(given.blob, values["blobendpoint"]),
		table:    or(given.table, values["tableendpoint"]),
		protocol: values["defaultendpointsprotocol"],
		suffix:   or(values["endpointsuffix"], given.suffix),
	}, nil
}

// endpoints are the known parts of an account's addresses.
type endpoints struct {
	blob, table      string
	protocol, suffix string
}

// withEndpoints completes the addresses. It keeps given ones. It derives the address of the table service
// from a blob address of the usual form, otherwise from the account.
func (c Credential) withEndpoints(e endpoints) (Credential, error) {
	for i := range len(c.Account) {
		if !isLowerOrDigit(c.Account[i]) {
			return Credential{}, fmt.Errorf("account %q: an account's name is lower-case letters and digits, without a domain", c.Account)
		}
	}
	if e.table == "" {
		e.table = tableEndpointOf(e.blob)
	}
	var err error
	if c.BlobEndpoint, err = e.address("blob", e.blob, c.Account); err != nil {
		return Credential{}, err
	}
	if c.TableEndpoint, err = e.address("table", e.table, c.Account); err != nil {
		return Credential{}, err
	}
	return c, c.check()
}

// address is the given address of a service, or the account's own.
func (e endpoints) address(service, given, account string) (string, error) {
	switch {
	case given != "":
		return strings.TrimRight(given, "/"), nil
	case account == "":
		return "", fmt.Errorf("neither an account's name nor the address of its %s service is given", service)
	default:
		return fmt.Sprintf("%s://%s.%s.%s", or(e.protocol, "https"), account, service, or(e.suffix, defaultSuffix)), nil
	}
}

// tableEndpointOf is the address of the table service that belongs to a blob address like
// https://ACCOUNT.blob.SUFFIX, "" if it has another form.
func tableEndpointOf(blob string) string {
	u, err := url.Parse(blob)
	if err != nil {
		return ""
	}
	account, suffix, ok := strings.Cut(u.Host, ".blob.")
	if !ok {
		return ""
	}
	u.Host = account + ".table." + suffix
	return u.String()
}

// or is a, or b if a is empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
