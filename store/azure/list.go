package azure

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"logstow/store"
)

// maxPage is the number of blobs in one page of a listing, Azure's limit.
// https://learn.microsoft.com/rest/api/storageservices/list-blobs
const maxPage = 5000

// List implements store.BlobReader.
func (b *blobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		b.enumerate(ctx, prefix)(func(page enumerated, err error) bool { return yield(page.blobs, err) })
	}
}

// enumerate yields the pages of a listing, with blobs and directories.
func (b *blobs) enumerate(ctx context.Context, prefix string) iter.Seq2[enumerated, error] {
	return func(yield func(enumerated, error) bool) {
		pager := b.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Prefix:     &prefix,
			MaxResults: to.Ptr[int32](maxPage),
			Include:    container.ListBlobsInclude{Metadata: true},
		})
		var read capturedPage
		pages(capturePage(ctx, &read), pager, func(page container.ListBlobsFlatResponse, err error) bool {
			if err != nil {
				return yield(enumerated{}, b.fail.wrap(ctx, listBlobs, b.prefixObject(prefix), err))
			}
			items := read.enumerated
			if !read.ok {
				items = listedPage(page)
			}
			if len(items.directories) > 0 {
				b.hierarchical.Store(true)
			}
			return yield(items, nil)
		})
	}
}

// now returns the date of the response to a listing, because a listing only needs the permission to list.
func (b *blobs) now(ctx context.Context) (time.Time, error) {
	pager := b.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: to.Ptr[int32](1)})
	page, err := pager.NextPage(ctx)
	if err == nil && page.Date == nil {
		err = errors.New("response without a Date header")
	}
	if err != nil {
		return time.Time{}, b.fail.wrap(ctx, listBlobs, b.prefixObject(""), err)
	}
	return page.Date.UTC(), nil
}

// ListPrefixes implements store.BlobReader.
func (b *blobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		pager := b.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
			Prefix:     &prefix,
			MaxResults: to.Ptr[int32](maxPage),
		})
		pages(ctx, pager, func(page container.ListBlobsHierarchyResponse, err error) bool {
			if err != nil {
				return yield(nil, b.fail.wrap(ctx, listBlobs, b.prefixObject(prefix), err))
			}
			if page.Segment == nil {
				return yield(nil, nil)
			}
			names := make([]string, 0, len(page.Segment.BlobPrefixes))
			for _, p := range page.Segment.BlobPrefixes {
				names = append(names, value(p.Name))
			}
			return yield(names, nil)
		})
	}
}

// listedPage converts a page that the SDK decoded.
func listedPage(page container.ListBlobsFlatResponse) (items enumerated) {
	if page.Segment == nil {
		return items
	}
	for _, item := range page.Segment.BlobItems {
		items.add(listed(item), item.Properties != nil && value(item.Properties.ResourceType) == directoryType)
	}
	return items
}

// listed converts a blob that the SDK decoded.
func listed(item *container.BlobItem) store.Blob {
	blob := store.Blob{Name: value(item.Name), Metadata: make(map[string]string, len(item.Metadata))}
	for key, v := range item.Metadata {
		blob.Metadata[key] = value(v)
	}
	if p := item.Properties; p != nil {
		blob.Size = value(p.ContentLength)
		blob.ETag = etag(p.ETag)
		blob.Created = value(p.CreationTime).UTC()
		blob.Modified = value(p.LastModified).UTC()
		blob.Appended = value(p.BlobType) == container.BlobTypeAppendBlob
		blob.Tier = store.Tier(value(p.AccessTier))
		blob.TierInferred = value(p.AccessTierInferred)
		blob.Paged = value(p.BlobType) == container.BlobTypePageBlob
	}
	return blob
}

func (b *blobs) prefixObject(prefix string) string {
	return "blobs " + prefix + "* of container " + b.name
}
