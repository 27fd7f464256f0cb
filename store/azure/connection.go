package azure

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"logstow/internal/hint"
)

// The values of UseDevelopmentStorage=true: the well-known account of Azurite on its usual ports.
// https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
const (
	developmentAccount = "devstoreaccount1"
	developmentKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	developmentBlob    = "http://127.0.0.1:10000/" + developmentAccount
	developmentTable   = "http://127.0.0.1:10002/" + developmentAccount
)

// quotes are the characters around a value that a shell removes, and docker's --env-file does not.
const quotes = `"'`

// unquote returns a value without spaces and one pair of quotes around it, and whether there were quotes.
func unquote(value string) (unquoted string, quoted bool) {
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && value[0] == value[n-1] && strings.Contains(quotes, value[:1]) {
		return strings.TrimSpace(value[1 : n-1]), true
	}
	return value, false
}

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
		if strings.ContainsAny(key, quotes) || strings.Trim(value, quotes) != value {
			return Credential{}, given, errors.New("has quotes around a part of it: remove the quotes")
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
		SAS:     newSAS(values["sharedaccesssignature"]),
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
// https://ACCOUNT.blob.SUFFIX, also with a container after it, "" if it has another form.
func tableEndpointOf(blob string) string {
	u, err := url.Parse(blob)
	if err != nil {
		return ""
	}
	account, suffix, ok := strings.Cut(u.Host, ".blob.")
	if !ok {
		return ""
	}
	u.Host, u.Path = account+".table."+suffix, ""
	return u.String()
}

// checkAddresses rejects addresses of a container or of anything else below the account, as the connection string of a SAS for
// one container may have: blobs would be stored below another container of that name.
func (c Credential) checkAddresses() error {
	return errors.Join(c.checkAddress("blob", c.BlobEndpoint), c.checkAddress("table", c.TableEndpoint))
}

// checkAddress checks the address of a service. Its path may be the account, as in http://127.0.0.1:10000/ACCOUNT.
func (c Credential) checkAddress(service, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%s endpoint: not an http or https address", service)
	}
	path := strings.Trim(u.Path, "/")
	if path == "" {
		return nil
	}
	account, below := "", path
	if first, rest, _ := strings.Cut(path, "/"); c.isAccount(u, first) {
		account, below = "/"+first, rest
	}
	if below == "" {
		return nil
	}
	u.Path, u.RawPath = account, ""
	return hint.Wrap(fmt.Errorf("%s endpoint: the path /%s is not an account's", service, path),
		"give the address of the account, %s, and the container in the store's name", u)
}

// isAccount reports whether the first part of an address's path is the account and not a container.
func (c Credential) isAccount(u *url.URL, first string) bool {
	host := u.Hostname()
	switch {
	case strings.Contains(host, ".blob.") || strings.Contains(host, ".table."):
		return false // the host names the account
	case c.Account != "":
		return first == c.Account
	default:
		// An emulator has an IP address, a name without a domain, or a port.
		return net.ParseIP(host) != nil || !strings.Contains(host, ".") || u.Port() != ""
	}
}

// or is a, or b if a is empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
