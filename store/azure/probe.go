package azure

import (
	"bytes"
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"logstow/store"
)

const (
	// probeName is the name of the blob that MayCompact requests; no output can have it.
	probeName = "_check"
	// neverETag is an ETag that no blob has.
	neverETag azcore.ETag = `"0x0"`
)

// MayCompact reports whether the credential may write to the compacted container. It requests a blob on a condition that
// never holds: storage checks the permission first, and then the condition. A missing container is
// [store.ErrNoContainer]. One request.
// https://learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations
func (s *Store) MayCompact(ctx context.Context) (bool, error) {
	b, ok := s.compacted.(*blobs)
	if !ok {
		return false, nil
	}
	_, err := b.container.NewBlockBlobClient(probeName).Upload(ctx, streaming.NopCloser(bytes.NewReader(nil)), &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to.Ptr(neverETag)}},
	})
	object := blobObject(probeName) + " of container " + b.name
	if err == nil {
		return true, &store.Error{
			Op:     "probe",
			Object: object,
			Class:  store.ErrUnusable,
			Err:    errors.New("the condition If-Match was ignored, and the blob created"),
			Hint:   "delete the blob; a proxy in between may remove headers",
		}
	}
	switch err = b.fail.wrap(ctx, createBlob, object, err); {
	case errors.Is(err, store.ErrExists): // the condition does not hold, or the blob exists
		return true, nil
	case errors.Is(err, store.ErrAccessDenied):
		return false, nil
	default:
		return false, err
	}
}

// UsesKey reports whether the credential is the account's key, which may do everything in the account.
func (s *Store) UsesKey() bool { return s.blobs.fail.cred.Key.Set() }
