package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
)

// TestForgeMany fills the pages of a listing with forged names before and between those of the honest segments.
func TestForgeMany(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "creates 5,200 blobs")
	f := newForgeries(t, stagePlain, []forgingAttack{{name: "web", forge: func(f *forgery) {
		meta, err := blobnaming.ParseMetadata(f.honest[0].Metadata)
		if err != nil {
			f.t.Fatal(err)
		}
		meta.Seq++
		var group errgroup.Group
		group.SetLimit(16)
		for i := range 2600 {
			group.Go(func() error {
				container := f.owner.Container()
				f.request(http.MethodPut, container, fmt.Sprintf("%s.%d", f.honest[0].Name, i), f.create, nil, nil)
				f.request(http.MethodPut, container, f.name("1000", 1+i), f.create, []byte("forged"), meta.Encode())
				return nil
			})
		}
		_ = group.Wait()
		if n := len(f.list(f.owner.Blobs())); n != 2*2600+len(f.honest) {
			f.t.Errorf("%d blobs", n)
		}
	}}})
	f.forge()
	f.check("forged")
	f.check("by the index", "--plan", "index")
	f.compact()
	f.compact()
	f.check("compacted")
	f.checkStored("compacted", true)
}
