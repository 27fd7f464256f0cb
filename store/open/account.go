package open

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"logstow/store"
	"logstow/store/azure"
)

// parseContainer parses the part after azblob://: CONTAINER, or CONTAINER?account=NAME.
func parseContainer(rest string) (container, account string, err error) {
	if strings.Contains(rest, "@") {
		return "", "", errors.New("want azblob://CONTAINER: the credential of the account belongs in the environment")
	}
	container, query, asked := strings.Cut(rest, "?")
	container = strings.TrimSuffix(container, "/")
	// Check the name first: it is what the user typed.
	if err := azure.CheckContainer(container); err != nil || !asked {
		return container, "", err
	}
	values, err := url.ParseQuery(query)
	if err != nil || len(values) != 1 || len(values["account"]) != 1 || values.Get("account") == "" {
		return container, "", fmt.Errorf("container %q: only ?account=NAME may follow it", container)
	}
	return container, values.Get("account"), nil
}

// perAccount are the variables of one account's location and credential.
const perAccount = " AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_SAS_TOKEN_FILE" +
	" AZURE_STORAGE_BLOB_ENDPOINT AZURE_STORAGE_TABLE_ENDPOINT "

// credential finds the credential for an account; "" means the account in the environment. For any other
// account, the variables that belong to one account are used only with its name as a suffix
// (AZURE_STORAGE_KEY_MYLOGS), so that the secret of an account is never sent to another.
func credential(getenv func(string) string, account string) (azure.Credential, error) {
	if account == "" {
		return azure.FromEnv(getenv)
	}
	usual, usualErr := azure.FromEnv(getenv)
	own := func(name string) string { return getenv(name + "_" + strings.ToUpper(account)) }
	named := false
	for name := range strings.FieldsSeq(perAccount) {
		named = named || own(name) != ""
	}
	if usualErr == nil && usual.AccountName() == account && !named {
		return usual, nil
	}
	auth, err := azure.ParseAuth(getenv(azure.AuthEnv))
	if static := usual.Key.Set() || usual.SAS.Set() || usual.SASFile != ""; err == nil && static && auth == azure.AuthAuto && !named {
		return azure.Credential{}, &store.Error{
			Op: "find", Object: "Azure credential", Class: store.ErrAccessDenied,
			Err: fmt.Errorf("the credential that is set is for account %s, not for %s", usual.AccountName(), account),
			Hint: fmt.Sprintf("set AZURE_STORAGE_KEY_%[1]s, AZURE_STORAGE_SAS_TOKEN_FILE_%[1]s or AZURE_STORAGE_CONNECTION_STRING_%[1]s, or use an identity: auth msi, workload or cli",
				strings.ToUpper(account)),
		}
	}
	cred, err := azure.FromEnv(func(name string) string {
		switch {
		case name == "AZURE_STORAGE_ACCOUNT":
			return account
		case strings.Contains(perAccount, " "+name+" "):
			return own(name)
		default:
			return getenv(name)
		}
	})
	if err == nil && cred.AccountName() != account {
		err = &store.Error{
			Op: "find", Object: "Azure credential", Class: store.ErrAccessDenied,
			Err: fmt.Errorf("AZURE_STORAGE_CONNECTION_STRING_%s is for account %s, not for %s", strings.ToUpper(account),
				cred.AccountName(), account),
		}
	}
	return cred, err
}
