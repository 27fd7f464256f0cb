package azure

import "logstow/store"

// DecodeEnumeration is for the test that storage writes what it decodes.
func DecodeEnumeration(page []byte) (blobs []store.Blob, ok bool) {
	items, _, ok := decodeEnumeration(page)
	return items.blobs, ok
}
