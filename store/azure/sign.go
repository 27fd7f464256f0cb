package azure

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"logstow/store"
)

const (
	// tableSASVersion is the version of storage's protocol for signatures of tables.
	tableSASVersion = "2019-02-02"
	// clockSlack is how long before the current time a delegation key begins, to tolerate clock skew.
	clockSlack = 15 * time.Minute
)

// ErrCannotSign reports that the credential cannot make a signature of that kind.
var ErrCannotSign = errors.New("this credential cannot sign")

// Delegates reports whether signatures for blobs are made in the name of an identity ("user
// delegation") and not with the account key. Tables cannot be signed for then.
func (s *Store) Delegates() bool { return s.blobs.fail.tokens != nil }

// Address is the location of the store: the account's name and its two endpoints.
func (s *Store) Address() (account, blobs, tables string) {
	f := s.blobs.fail
	return f.cred.AccountName(), f.cred.BlobEndpoint, f.cred.TableEndpoint
}

// Location implements [store.Located].
func (s *Store) Location() store.Location {
	endpoint := strings.TrimSuffix(s.blobs.fail.cred.BlobEndpoint, "/") + "/"
	return store.Location{Raw: endpoint + s.container, Compacted: endpoint + store.CompactedContainer(s.container)}
}

// Hierarchical reports whether the account has a hierarchical namespace, without which signatures
// cannot be limited to directories. One request.
func (s *Store) Hierarchical(ctx context.Context) (bool, error) {
	info, err := s.blobs.container.GetAccountInfo(ctx, nil)
	if err != nil {
		return false, s.blobs.fail.wrap(ctx, readBlob, "properties of account "+s.blobs.fail.cred.AccountName(), err)
	}
	return value(info.IsHierarchicalNamespaceEnabled), nil
}

// CreateContainer creates the container; an existing one is no error.
func (s *Store) CreateContainer(ctx context.Context) error { return s.blobs.createContainer(ctx) }

// OtherContent returns the name of a directory other than the given one, or of a blob in no directory; "" if
// neither container has one. It stops at the first page with one; a page is a request and up to 5,000 names. The
// compacted container may be missing.
func (s *Store) OtherContent(ctx context.Context, directory string) (other string, err error) {
	if other, err = s.blobs.otherContent(ctx, directory); other != "" || err != nil {
		return other, err
	}
	if b, ok := s.compacted.(*blobs); ok {
		if other, err = b.otherContent(ctx, directory); errors.Is(err, store.ErrNoContainer) {
			err = nil
		}
	}
	return other, err
}

func (b *blobs) otherContent(ctx context.Context, directory string) (other string, err error) {
	pager := b.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{MaxResults: to.Ptr[int32](maxPage)})
	pages(ctx, pager, func(page container.ListBlobsHierarchyResponse, failed error) bool {
		if failed != nil {
			err = b.fail.wrap(ctx, listBlobs, b.prefixObject(""), failed)
			return false
		}
		if page.Segment == nil {
			return true
		}
		for _, p := range page.Segment.BlobPrefixes {
			if name := strings.TrimSuffix(value(p.Name), "/"); name != directory && other == "" {
				other = name
			}
		}
		for _, item := range page.Segment.BlobItems {
			other = or(other, value(item.Name))
		}
		return other == ""
	})
	return other, err
}

// SignBlobs makes a shared access signature with permissions, which are Azure's letters of sp=. It is for a
// directory of a container, without final slash, which requires a hierarchical namespace; if directory is
// "", for the whole container. An identity signs with a delegation key, which is requested, and which is
// valid for at most seven days.
func (s *Store) SignBlobs(ctx context.Context, name, directory, permissions string, expiry time.Time) (Secret, error) {
	f := s.blobs.fail
	values := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPS, ExpiryTime: expiry.UTC(), Permissions: permissions,
		ContainerName: name, Directory: directory,
	}
	if !strings.HasPrefix(f.cred.BlobEndpoint, "https:") {
		values.Protocol = sas.ProtocolHTTPSandHTTP // an emulator's
	}
	var signed sas.QueryParameters
	var err error
	switch {
	case f.cred.Key.Set():
		var key *container.SharedKeyCredential
		if key, err = container.NewSharedKeyCredential(f.cred.Account, f.cred.Key.Reveal()); err == nil {
			signed, err = values.SignWithSharedKey(key)
		}
	case f.tokens != nil:
		var key *service.UserDelegationCredential
		if key, err = s.delegationKey(ctx, expiry); err != nil {
			return Secret{}, err
		}
		signed, err = values.SignWithUserDelegation(key)
	default:
		err = ErrCannotSign
	}
	if err != nil {
		return Secret{}, &store.Error{
			Op: "sign", Object: "access to container " + name, Class: store.ErrAccessDenied, Err: f.scrub.err(err),
			Hint: "the account's key signs, and an identity does (auth key, msi, workload or cli), not " + f.cred.kind(),
		}
	}
	return NewSecret(signed.Encode()), nil
}

// delegationKey requests a key that signs in the name of the identity.
func (s *Store) delegationKey(ctx context.Context, expiry time.Time) (*service.UserDelegationCredential, error) {
	f := s.blobs.fail
	u, err := url.Parse(f.cred.BlobEndpoint)
	if err == nil && !strings.HasPrefix(u.Host, f.cred.AccountName()+".") {
		// The library takes the account's name, which is signed, from the host's.
		err = errors.New("the blob endpoint's host does not begin with the account's name: use the account's own endpoint, or the key")
	}
	object := "delegation key of account " + f.cred.AccountName()
	if err != nil {
		return nil, &store.Error{Op: "request", Object: object, Class: store.ErrAccessDenied, Err: err}
	}
	client, err := service.NewClient(f.cred.BlobEndpoint, f.cred.Token, &service.ClientOptions{ClientOptions: *s.client})
	if err != nil {
		return nil, f.invalid(signBlobs, object, err)
	}
	now := time.Now().UTC()
	key, err := client.GetUserDelegationCredential(ctx, service.KeyInfo{
		Start: to.Ptr(now.Add(-clockSlack).Format(sas.TimeFormat)), Expiry: to.Ptr(expiry.UTC().Format(sas.TimeFormat)),
	}, nil)
	if err != nil {
		return nil, f.wrap(ctx, signBlobs, object, err)
	}
	return key, nil
}

// SignTable makes a shared access signature with some permissions for the entities of a table whose
// partitions are from first to last, both included. It requires the account key: otherwise the
// error wraps [ErrCannotSign].
// https://learn.microsoft.com/rest/api/storageservices/create-service-sas
func (s *Store) SignTable(table, permissions, first, last string, expiry time.Time) (Secret, error) {
	f := s.tables.fail
	key, err := base64.StdEncoding.DecodeString(f.cred.Key.Reveal())
	if !f.cred.Key.Set() || err != nil {
		return Secret{}, &store.Error{
			Op: "sign", Object: "access to table " + table, Class: store.ErrAccessDenied, Err: ErrCannotSign,
			Hint: "only the account's key signs for tables",
		}
	}
	protocol := "https"
	if !strings.HasPrefix(f.cred.TableEndpoint, "https:") {
		protocol = "https,http"
	}
	table = strings.ToLower(table)
	end := expiry.UTC().Format(sas.TimeFormat)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{
		permissions, "", end, "/table/" + f.cred.Account + "/" + table, "", "", protocol, tableSASVersion, first, "", last, "",
	}, "\n")))
	return NewSecret(url.Values{
		"sv": {tableSASVersion}, "tn": {table}, "sp": {permissions}, "se": {end}, "spr": {protocol},
		"spk": {first}, "epk": {last}, "sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}.Encode()), nil
}
