package azure

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // Azure's checksum of a response
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"logstow/store"
)

// crcPolynomial is the polynomial of the CRC-64 with which Azure verifies an upload.
// https://learn.microsoft.com/rest/api/storageservices/put-blob
const crcPolynomial = 0x9A6C9329AC4BC9B5

// blobs implements store.Blobs.
type blobs struct {
	container *container.Client
	// signatures sign the requests; nil if a key or a token is used.
	signatures Signatures
	name       string
	fail       *failures
	log        *slog.Logger
	// hierarchical is set when a listing shows that directories are objects.
	hierarchical atomic.Bool
	// noBatches is set when storage rejected a batch request.
	noBatches atomic.Bool
	// noTiers is set when storage rejected a tier because the account has none.
	noTiers atomic.Bool
}

// Create implements store.Blobs as one Put Blob with If-None-Match: *. A missing container is
// created, and the request then sent once more.
func (b *blobs) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	return b.create(ctx, name, bytes.NewReader(body), int64(len(body)), opts)
}

// CreateFrom implements store.Streamer with the same request, which may have 5,000 MiB.
// https://learn.microsoft.com/rest/api/storageservices/put-blob
func (b *blobs) CreateFrom(ctx context.Context, name string, body io.ReaderAt, size int64, opts store.CreateOptions) (string, error) {
	return b.create(ctx, name, body, size, opts)
}

func (b *blobs) create(ctx context.Context, name string, body io.ReaderAt, size int64, opts store.CreateOptions) (string, error) {
	object := blobObject(name)
	if err := b.checkCreate(name, opts); err != nil {
		return "", b.fail.invalid(createBlob, object, err)
	}
	etag, err := b.putInTier(ctx, name, body, size, opts)
	if err == nil {
		return etag, nil
	}
	err = b.fail.wrap(ctx, createBlob, object, err)
	if !errors.Is(err, store.ErrNoContainer) {
		return "", err
	}
	if err := b.createContainer(ctx); err != nil {
		return "", err
	}
	etag, err = b.putInTier(ctx, name, body, size, opts)
	if err != nil {
		return "", b.fail.wrap(ctx, createBlob, object, err)
	}
	return etag, nil
}

func (b *blobs) checkCreate(name string, opts store.CreateOptions) error {
	if b.name == LogsContainer {
		return errors.New(LogsContainer + " belongs to Azure: it can be read only")
	}
	if err := store.CheckName(name); err != nil {
		return err
	}
	if opts.Tier != "" && !opts.Tier.Valid() {
		return fmt.Errorf("no tier %q", opts.Tier)
	}
	return store.CheckMetadata(opts.Metadata)
}

// putInTier is put, without the tier Hot if the account has no tiers, as a premium one: then storage rejects the request as invalid.
func (b *blobs) putInTier(ctx context.Context, name string, body io.ReaderAt, size int64, opts store.CreateOptions) (string, error) {
	if opts.Tier != store.Hot {
		return b.put(ctx, name, body, size, opts)
	}
	plain := opts
	plain.Tier = ""
	if b.noTiers.Load() {
		return b.put(ctx, name, body, size, plain)
	}
	etag, err := b.put(ctx, name, body, size, opts)
	if !isBadRequest(err) {
		return etag, err
	}
	etag, plainErr := b.put(ctx, name, body, size, plain)
	if isBadRequest(plainErr) {
		return "", err
	}
	b.noTiers.Store(true)
	return etag, plainErr
}

func isBadRequest(err error) bool {
	var response *azcore.ResponseError
	return errors.As(err, &response) && response.StatusCode == http.StatusBadRequest
}

// put sends one request. It reads body through a reader of its own: storage may reject a request before its end, and the transport
// then still reads the body of that one while the next is sent.
func (b *blobs) put(ctx context.Context, name string, body io.ReaderAt, size int64, opts store.CreateOptions) (string, error) {
	// The caller must find out whether a lost response means success: no retry here.
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1, TryTimeout: tryTimeout})
	metadata := make(map[string]*string, len(opts.Metadata))
	for key, value := range opts.Metadata {
		metadata[key] = &value
	}
	headers := &blob.HTTPHeaders{}
	if opts.ContentType != "" {
		headers.BlobContentType = &opts.ContentType
	}
	if opts.ContentEncoding != "" {
		headers.BlobContentEncoding = &opts.ContentEncoding
	}
	var tier *blob.AccessTier
	if opts.Tier != "" {
		tier = to.Ptr(blob.AccessTier(opts.Tier))
	}
	sum := crc64.New(crc64.MakeTable(crcPolynomial))
	if _, err := io.Copy(sum, io.NewSectionReader(body, 0, size)); err != nil {
		return "", fmt.Errorf("cannot read the body of %s: %w", name, err)
	}
	resp, err := b.container.NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(io.NewSectionReader(body, 0, size)), &blockblob.UploadOptions{
		Metadata:    metadata,
		HTTPHeaders: headers,
		Tier:        tier,
		AccessConditions: &blob.AccessConditions{
			ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)},
		},
		TransactionalValidation: blob.TransferValidationTypeCRC64(sum.Sum64()),
	})
	if err != nil {
		return "", err
	}
	return etag(resp.ETag), nil
}

// createContainer creates the container; an existing one is no error.
func (b *blobs) createContainer(ctx context.Context) error {
	_, err := b.container.Create(ctx, nil)
	if err != nil {
		err = b.fail.wrap(ctx, createContainer, "container "+b.name, err)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		return nil
	}
	b.log.Info("created container", slog.String("container", b.name))
	return nil
}

// Read implements store.BlobReader as one Get Blob of bytes=off-end.
func (b *blobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	name := ref.Name
	object := blobObject(name)
	if name == "" || n <= 0 || off < 0 {
		return nil, b.fail.invalid(readBlob, object, fmt.Errorf("%d bytes from %d of %q", n, off, name))
	}
	if off > math.MaxInt64-n {
		return nil, &store.Error{Op: readBlob.verb(), Object: object, Class: store.ErrRange}
	}
	buf, err := b.get(ctx, ref, off, n)
	var broken *brokenError
	if errors.As(err, &broken) && ctx.Err() == nil {
		buf, err = b.get(ctx, ref, off, n) // once more, from the beginning
	}
	var e *store.Error
	if err != nil && !errors.As(err, &e) {
		err = b.fail.wrap(ctx, readBlob, object, err)
	}
	return buf, err
}

func (b *blobs) get(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	resp, err := b.container.NewBlobClient(ref.Name).DownloadStream(ctx, &blob.DownloadStreamOptions{
		Range:            blob.HTTPRange{Offset: off, Count: n},
		AccessConditions: ifMatch(ref),
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := checkRange(value(resp.ContentRange), resp.ContentLength, off, n); err != nil {
		var broken *brokenError
		if errors.As(err, &broken) {
			return nil, err
		}
		return nil, &store.Error{Op: readBlob.verb(), Object: blobObject(ref.Name), Class: store.ErrRange, Err: err}
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(resp.Body, buf); err != nil {
		return nil, &brokenError{fmt.Errorf("response truncated: %w", err)}
	}
	if err := checkSums(buf, resp.ContentMD5, resp.ContentCRC64); err != nil {
		return nil, &brokenError{err}
	}
	return buf, nil
}

// brokenError reports a response that is not what storage sent: truncated, of another range, or changed. The SDK does not retry a
// request whose response has begun.
type brokenError struct {
	err error
}

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// checkRange compares the range in the response with the requested one. Storage returns less if the range exceeds the blob. If it
// does not exceed it by the size in the response, or if the response has no range, the error is a [*brokenError].
func checkRange(got string, length *int64, off, n int64) error {
	var first, last, size int64
	if _, err := fmt.Sscanf(got, "bytes %d-%d/%d", &first, &last, &size); err != nil {
		return &brokenError{fmt.Errorf("requested bytes %d-%d, the response has no range", off, off+n-1)}
	}
	if first == off && last == off+n-1 && (length == nil || *length == n) {
		return nil
	}
	err := fmt.Errorf("requested bytes %d-%d, the response has another length or range: %s", off, off+n-1, got)
	if size >= off+n {
		return &brokenError{err}
	}
	return err
}

// checkSums compares a body with the checksums of its response; nil if there is none.
func checkSums(body, md5Sum, crcSum []byte) error {
	if len(md5Sum) > 0 {
		if got := md5.Sum(body); !bytes.Equal(got[:], md5Sum) { //nolint:gosec // Azure's checksum of a response
			return errors.New("the response differs from its Content-MD5")
		}
	}
	if len(crcSum) > 0 {
		sum := crc64.Checksum(body, crc64.MakeTable(crcPolynomial))
		if !bytes.Equal(binary.LittleEndian.AppendUint64(nil, sum), crcSum) {
			return errors.New("the response differs from its x-ms-content-crc64")
		}
	}
	return nil
}

// etag returns an ETag as in store.Blob: without the quotes that it has in headers, but not in listings.
func etag(e *azcore.ETag) string {
	if e == nil {
		return ""
	}
	return strings.Trim(string(*e), `"`)
}

// ifMatch is the condition that a blob is the one that ref identifies; nil if that is any.
func ifMatch(ref store.BlobRef) *blob.AccessConditions {
	if ref.ETag == "" {
		return nil
	}
	return &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(`"` + ref.ETag + `"`))},
	}
}

func blobObject(name string) string { return "blob " + name }

// value returns what p points to, or the zero value if p is nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// pages fetches page after page until the last or an error.
func pages[P any](ctx context.Context, pager *runtime.Pager[P], yield func(P, error) bool) {
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if !yield(page, err) || err != nil {
			return
		}
	}
}
