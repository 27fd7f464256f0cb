package azure

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// APIVersionEnv is the variable with the version of the services that requests name.
const APIVersionEnv = "AZURE_STORAGE_API_VERSION"

// versionHeader is the header with the version of the service.
const versionHeader = "x-ms-version"

// oldestAPIVersion is the oldest version that has the CRC-64 of uploads, tiers, tokens and batches of deletions.
// https://learn.microsoft.com/rest/api/storageservices/previous-azure-storage-service-versions
const oldestAPIVersion = "2019-12-12"

// parseAPIVersion checks a version of the services; "" is none.
func parseAPIVersion(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil || s < oldestAPIVersion {
		return "", errors.New("not a version of Azure Storage from " + oldestAPIVersion + " on, such as 2021-12-02")
	}
	return s, nil
}

// versionPolicy replaces the version that the SDKs name in requests, before they are signed. Requests inside a batch name none.
type versionPolicy string

// Do implements [policy.Policy].
func (v versionPolicy) Do(req *policy.Request) (*http.Response, error) {
	for name := range req.Raw().Header { // the SDKs differ in case, which net/http keeps
		if strings.EqualFold(name, versionHeader) {
			req.Raw().Header[name] = []string{string(v)}
		}
	}
	return req.Next()
}
