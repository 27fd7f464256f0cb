package azure

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// secondarySuffix is what the name of an account has in the address of its secondary location.
// https://learn.microsoft.com/azure/storage/common/storage-redundancy#read-access-to-data-in-the-secondary-region
const secondarySuffix = "-secondary"

// LastSync returns the Last Sync Time of an account whose secondary location can be read (RA-GRS, RA-GZRS): what was
// written before it is in the secondary location too. It is zero while that is unknown, during the first
// synchronization or an outage. replicated is false if the account has no such location; that of an account with
// GRS or GZRS cannot be read.
//
// It makes a request for the kind of redundancy, and one to the secondary location unless there is none.
// https://learn.microsoft.com/rest/api/storageservices/get-blob-service-stats
func (s *Store) LastSync(ctx context.Context) (at time.Time, replicated bool, err error) {
	info, infoErr := s.blobs.container.GetAccountInfo(ctx, nil)
	if infoErr == nil && !strings.Contains(string(value(info.SKUName)), "RAG") {
		return time.Time{}, false, nil
	}
	f := *s.blobs.fail
	object := "statistics of account " + f.cred.AccountName() + secondarySuffix
	var client *service.Client
	if f.cred.BlobEndpoint, err = f.cred.secondaryEndpoint(); err == nil {
		client, err = newServiceClient(f.cred, s.container, *s.client)
	}
	if err != nil {
		return time.Time{}, false, f.invalid(readStatistics, object, err)
	}
	stats, err := client.GetStatistics(ctx, nil)
	if err == nil {
		if g := stats.GeoReplication; g != nil && g.LastSyncTime != nil {
			at = g.LastSyncTime.UTC()
		}
		return at, true, nil
	}
	var dns *net.DNSError
	if infoErr != nil && errors.As(err, &dns) && dns.IsNotFound || bloberror.HasCode(err, bloberror.InsufficientAccountPermissions) {
		return time.Time{}, false, nil
	}
	return time.Time{}, false, f.wrap(ctx, readStatistics, object, err)
}

// newServiceClient makes a client of the blob service; a signature is that for a container.
func newServiceClient(cred Credential, container string, opts policy.ClientOptions) (*service.Client, error) {
	switch {
	case cred.Key.Set():
		key, err := service.NewSharedKeyCredential(cred.Account, cred.Key.Reveal())
		if err != nil {
			return nil, err
		}
		return service.NewClientWithSharedKeyCredential(cred.BlobEndpoint, key, &service.ClientOptions{ClientOptions: opts})
	case cred.Signatures != nil:
		opts.PerRetryPolicies = []policy.Policy{signerOfBlobs(cred.Signatures, container)}
		return service.NewClientWithNoCredential(cred.BlobEndpoint, &service.ClientOptions{ClientOptions: opts})
	default:
		return service.NewClient(cred.BlobEndpoint, cred.Token, &service.ClientOptions{ClientOptions: opts})
	}
}

// secondaryEndpoint is the address of the blob service at the secondary location.
func (c Credential) secondaryEndpoint() (string, error) {
	u, err := url.Parse(c.BlobEndpoint)
	if err != nil {
		return "", err
	}
	account := c.AccountName()
	if path := strings.Trim(u.Path, "/"); path != "" { // an emulator's
		u.Path = "/" + path + secondarySuffix
		return u.String(), nil
	}
	rest, ok := strings.CutPrefix(u.Host, account+".")
	if !ok {
		return "", errors.New("the blob endpoint's host does not begin with the account's name: use the account's own endpoint")
	}
	u.Host = account + secondarySuffix + "." + rest
	return u.String(), nil
}
