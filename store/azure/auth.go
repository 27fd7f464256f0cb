package azure

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// AuthEnv is the variable with the kind of credential that [FromEnv] looks for.
const AuthEnv = "LOGSTOW_AUTH"

// Auth is a kind of credential.
type Auth string

// The kinds of credential.
const (
	// AuthAuto uses the first that is set: a connection string, an account key, a SAS, otherwise
	// DefaultAzureCredential (a service principal's variables, workload identity, managed identity,
	// the Azure CLI's login).
	AuthAuto Auth = "auto"
	// AuthKey is the account key.
	AuthKey Auth = "key"
	// AuthSAS is a shared access signature.
	AuthSAS Auth = "sas"
	// AuthMSI is the machine's managed identity; AZURE_CLIENT_ID selects one of several.
	AuthMSI Auth = "msi"
	// AuthWorkload is a Kubernetes workload identity: AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_ID
	// and AZURE_TENANT_ID, set by its webhook.
	AuthWorkload Auth = "workload"
	// AuthCLI is the login of the Azure CLI.
	AuthCLI Auth = "cli"
)

// ParseAuth parses a kind of credential; "" is [AuthAuto].
func ParseAuth(s string) (Auth, error) {
	switch a := Auth(strings.ToLower(s)); a {
	case "":
		return AuthAuto, nil
	case AuthAuto, AuthKey, AuthSAS, AuthMSI, AuthWorkload, AuthCLI:
		return a, nil
	default:
		return "", fmt.Errorf("unknown credential kind %q: want auto, key, sas, msi, workload or cli", s)
	}
}

// usesToken reports whether the credential is a token of Microsoft Entra ID.
func (a Auth) usesToken() bool { return a == AuthMSI || a == AuthWorkload || a == AuthCLI }

// Identity configures how tokens are obtained. Empty fields are left to Azure's library.
type Identity struct {
	// ClientID and TenantID are those of AZURE_CLIENT_ID and AZURE_TENANT_ID.
	ClientID, TenantID string
	// TokenFile is AZURE_FEDERATED_TOKEN_FILE. It is reread every ten minutes.
	TokenFile string
	// Authority is AZURE_AUTHORITY_HOST, an https address: the cloud that issues tokens. "" is
	// Azure's public cloud.
	Authority string
	// Secret is AZURE_CLIENT_SECRET, which Azure's library reads itself: it is here only to be
	// redacted from errors.
	Secret Secret
}

func identityFromEnv(getenv func(string) string) Identity {
	return Identity{
		ClientID: getenv("AZURE_CLIENT_ID"), TenantID: getenv("AZURE_TENANT_ID"),
		TokenFile: getenv("AZURE_FEDERATED_TOKEN_FILE"), Authority: getenv("AZURE_AUTHORITY_HOST"),
		Secret: NewSecret(getenv("AZURE_CLIENT_SECRET")),
	}
}

// newTokens makes the token source of a credential without key and SAS.
func newTokens(c Credential, opts policy.ClientOptions) (azcore.TokenCredential, error) {
	private := c.Identity.Authority != "" && !isMicrosoftAuthority(c.Identity.Authority)
	if c.Identity.Authority != "" {
		opts.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: c.Identity.Authority}
	}
	switch c.Auth {
	case AuthMSI:
		o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: opts}
		if c.Identity.ClientID != "" {
			o.ID = azidentity.ClientID(c.Identity.ClientID)
		}
		return azidentity.NewManagedIdentityCredential(o)
	case AuthWorkload:
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: opts, DisableInstanceDiscovery: private,
			ClientID: c.Identity.ClientID, TenantID: c.Identity.TenantID, TokenFilePath: c.Identity.TokenFile,
		})
	case AuthCLI:
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: c.Identity.TenantID})
	default:
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: opts, DisableInstanceDiscovery: private,
		})
	}
}

// isMicrosoftAuthority reports whether an authority is one of Microsoft's. Others cannot be looked
// up there, and may be unreachable from the Internet.
func isMicrosoftAuthority(authority string) bool {
	authority = strings.TrimRight(authority, "/")
	for _, c := range [3]cloud.Configuration{cloud.AzurePublic, cloud.AzureChina, cloud.AzureGovernment} {
		if strings.EqualFold(authority, strings.TrimRight(c.ActiveDirectoryAuthorityHost, "/")) {
			return true
		}
	}
	return false
}

// kind names the credential in errors.
func (c Credential) kind() string {
	switch {
	case c.Key.Set():
		return "the account key"
	case c.Signatures != nil:
		return c.Signatures.String()
	case c.SASFile != "":
		return "the SAS in " + c.SASFile
	case c.SAS.Set():
		return "the SAS"
	}
	switch c.Auth {
	case AuthMSI:
		return "the managed identity"
	case AuthWorkload:
		return "the workload identity"
	case AuthCLI:
		return "the Azure CLI's login"
	default:
		return "the identity found by DefaultAzureCredential"
	}
}
