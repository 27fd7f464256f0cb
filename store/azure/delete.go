package azure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"golang.org/x/sync/errgroup"

	"logstow/store"
)

// Delete implements store.Blobs with Blob Batch requests, or blob by blob if storage does not
// support them. The ETag of a replaced blob does not match.
// https://learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations
func (b *blobs) Delete(ctx context.Context, refs []store.BlobRef) error {
	options := func(ref store.BlobRef) blob.DeleteOptions {
		return blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude), AccessConditions: ifMatch(ref)}
	}
	return b.change(ctx, refs, change{
		action: deleteBlobs,
		add: func(batch *container.BatchBuilder, ref store.BlobRef) error {
			return batch.Delete(ref.Name, &container.BatchDeleteOptions{DeleteOptions: options(ref)})
		},
		one: func(ctx context.Context, ref store.BlobRef) error {
			_, err := b.container.NewBlobClient(ref.Name).Delete(ctx, to.Ptr(options(ref)))
			return err
		},
	})
}

// RemoveDirectories implements store.Blobs in batches, the deepest directories first. Storage rejects the
// deletion of a directory that is not empty, and of a directory with its snapshots.
func (b *blobs) RemoveDirectories(ctx context.Context, prefix, before string) error {
	if !b.hierarchical.Load() {
		return nil
	}
	depths := make(map[int][]store.BlobRef)
	deepest := 0
	for page, err := range b.enumerate(ctx, prefix) {
		if err != nil {
			return err
		}
		last := ""
		for _, name := range page.directories {
			if name < before {
				depth := strings.Count(name, "/")
				depths[depth] = append(depths[depth], store.BlobRef{Name: name})
				deepest = max(deepest, depth)
			}
			last = max(last, name)
		}
		if n := len(page.blobs); n > 0 {
			last = max(last, page.blobs[n-1].Name)
		}
		if last >= before {
			break
		}
	}
	if len(depths) == 0 {
		return nil
	}
	own := store.AnyVersion(strings.TrimSuffix(prefix, "/"))
	depths[strings.Count(own[0].Name, "/")] = own
	for depth := deepest; depth >= 0; depth-- {
		err := b.change(ctx, depths[depth], change{
			action: deleteBlobs,
			add: func(batch *container.BatchBuilder, ref store.BlobRef) error {
				return batch.Delete(ref.Name, nil)
			},
			one: func(ctx context.Context, ref store.BlobRef) error {
				_, err := b.container.NewBlobClient(ref.Name).Delete(ctx, nil)
				return err
			},
			skipCode: directoryIsNotEmpty,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// directoryIsNotEmpty is the code for a directory that is not empty.
const directoryIsNotEmpty = bloberror.Code("DirectoryIsNotEmpty")

// SetTier implements store.Blobs as Delete does.
func (b *blobs) SetTier(ctx context.Context, names []string, tier store.Tier) error {
	if !tier.Valid() {
		return b.fail.invalid(setTier, "blobs of container "+b.name, fmt.Errorf("no tier %q", tier))
	}
	return b.change(ctx, store.AnyVersion(names...), change{
		action: setTier,
		add: func(batch *container.BatchBuilder, ref store.BlobRef) error {
			return batch.SetTier(ref.Name, blob.AccessTier(tier), nil)
		},
		one: func(ctx context.Context, ref store.BlobRef) error {
			_, err := b.container.NewBlobClient(ref.Name).SetTier(ctx, blob.AccessTier(tier), nil)
			return err
		},
	})
}

// change is an operation on many blobs.
type change struct {
	action action
	// add adds the operation on a blob to a batch, one sends it in a single request.
	add func(batch *container.BatchBuilder, ref store.BlobRef) error
	one func(ctx context.Context, ref store.BlobRef) error
	// skipCode is the error code that is not a failure; "" if there is none.
	skipCode bloberror.Code
}

// change changes many blobs in as few requests as possible.
func (b *blobs) change(ctx context.Context, refs []store.BlobRef, c change) error {
	var failed firstPerClass
	valid := make([]store.BlobRef, 0, len(refs))
	for _, ref := range refs {
		if err := store.CheckName(ref.Name); err != nil {
			failed.add(b.fail.invalid(c.action, blobObject(ref.Name), err))
			continue
		}
		valid = append(valid, ref)
	}
	for chunk := range slices.Chunk(valid, store.MaxDelete) {
		if b.ended(ctx, c, &failed) {
			break
		}
		b.changeBatch(ctx, chunk, c, &failed)
	}
	return failed.join()
}

// ended reports whether the context ended. It adds that as a failure, because some blobs are not changed.
func (b *blobs) ended(ctx context.Context, c change, failed *firstPerClass) bool {
	if ctx.Err() == nil {
		return false
	}
	failed.add(b.fail.wrap(ctx, c.action, "blobs of container "+b.name, ctx.Err()))
	return true
}

// changeBatch changes at most store.MaxDelete blobs in one request.
func (b *blobs) changeBatch(ctx context.Context, refs []store.BlobRef, c change, failed *firstPerClass) {
	if b.noBatches.Load() {
		b.changeEach(ctx, refs, c, failed)
		return
	}
	object := "blobs of container " + b.name
	batch, err := b.newBatch()
	if err != nil {
		failed.add(b.fail.wrap(ctx, c.action, object, err))
		return
	}
	for _, ref := range refs {
		if err := c.add(batch, ref); err != nil {
			failed.add(b.fail.invalid(c.action, blobObject(ref.Name), err))
			return
		}
	}
	resp, err := b.container.SubmitBatch(ctx, batch, nil)
	if err != nil {
		undecodable := isUndecodable(ctx, err)
		err = b.fail.wrap(ctx, c.action, object, err)
		if unsupported := noBatches(err); undecodable || unsupported {
			if unsupported && !b.noBatches.Swap(true) {
				b.log.Warn("storage does not support batch requests: sending single requests", slog.Any("error", err))
			}
			b.changeEach(ctx, refs, c, failed)
			return
		}
		failed.add(err)
		return
	}
	for _, item := range resp.Responses {
		if item.Error == nil {
			continue
		}
		name := value(item.BlobName)
		if id := value(item.ContentID); item.ContentID != nil && id >= 0 && id < len(refs) {
			name = refs[id].Name // without the account that a path-style address begins with
		}
		_ = b.addFailed(ctx, name, c, item.Error, failed) // each has its own result
	}
}

// newBatch makes an empty batch. Each of its parts has a signature of its own, which is taken from the
// address of the client that makes the batch.
func (b *blobs) newBatch() (*container.BatchBuilder, error) {
	if b.signatures == nil {
		return b.container.NewBatchBuilder()
	}
	sas, err := b.signatures.Blobs(b.name)
	if err != nil {
		return nil, &signatureError{err}
	}
	client, err := container.NewClientWithNoCredential(b.container.URL()+"?"+sas.Reveal(), nil)
	if err != nil {
		return nil, err
	}
	return client.NewBatchBuilder()
}

// isUndecodable reports whether the SDK cannot decode the response to a batch.
func isUndecodable(ctx context.Context, err error) bool {
	var response *azcore.ResponseError
	var network net.Error
	var token *tokenError
	var signature *signatureError
	return ctx.Err() == nil && !errors.As(err, &response) && !errors.As(err, &network) && !errors.As(err, &token) &&
		!errors.As(err, &signature)
}

// noBatches reports whether an error means that batches are not supported: the request is invalid, or the
// failure, which is not a timeout, has no code of storage, because a proxy sent it.
func noBatches(err error) bool {
	var e *store.Error
	switch {
	case errors.Is(err, store.ErrInvalid):
		return true
	case !errors.Is(err, store.ErrUnavailable), !errors.As(err, &e), e.Code != "", e.Status == http.StatusRequestTimeout:
		return false
	default:
		return e.Status >= http.StatusBadRequest && e.Status <= http.StatusInternalServerError
	}
}

// concurrentChanges is the number of single requests in flight.
const concurrentChanges = 16

// changeEach changes blob by blob, until storage is unavailable.
func (b *blobs) changeEach(ctx context.Context, refs []store.BlobRef, c change, failed *firstPerClass) {
	var group errgroup.Group
	group.SetLimit(concurrentChanges)
	var down atomic.Bool
	for _, ref := range refs {
		if down.Load() || b.ended(ctx, c, failed) {
			break
		}
		group.Go(func() error {
			if err := c.one(ctx, ref); err != nil && store.Retryable(b.addFailed(ctx, ref.Name, c, err, failed)) {
				down.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // failures are in failed
}

// addFailed adds the error for one blob and returns it; nil if the blob with the requested ETag does not
// exist.
func (b *blobs) addFailed(ctx context.Context, name string, c change, cause error, failed *firstPerClass) error {
	err := b.fail.wrap(ctx, c.action, blobObject(name), cause)
	if errors.Is(err, store.ErrNotFound) || bloberror.HasCode(cause, bloberror.ConditionNotMet) ||
		c.skipCode != "" && bloberror.HasCode(cause, c.skipCode) {
		return nil
	}
	failed.add(err)
	return err
}

// firstPerClass keeps the first error of each class, and counts them. Safe for concurrent use.
type firstPerClass struct {
	mu      sync.Mutex
	errs    []error
	classes []error
}

func (f *firstPerClass) add(err error) {
	var class error
	var e *store.Error
	if errors.As(err, &e) {
		class = e.Class
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.classes, class)
	if i < 0 {
		i = len(f.classes)
		f.classes, f.errs = append(f.classes, class), append(f.errs, err)
	}
	if errors.As(f.errs[i], &e) {
		e.Count++
	}
}

func (f *firstPerClass) join() error { return errors.Join(f.errs...) }
