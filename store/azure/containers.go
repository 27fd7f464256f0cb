package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"logstow/store"
)

// Containers returns the names of the account's containers that start with a prefix, in order. Azure requires the permission to list the
// containers of the account, which a SAS of a container lacks. One request for each 5,000.
// https://learn.microsoft.com/rest/api/storageservices/list-containers2
func (s *Store) Containers(ctx context.Context, prefix string) (names []string, err error) {
	object := "containers " + prefix + "*"
	f := *s.blobs.fail
	client, err := newServiceClient(f.cred, s.container, *s.client)
	if err != nil {
		return nil, f.invalid(listBlobs, object, err)
	}
	pager := client.NewListContainersPager(&service.ListContainersOptions{Prefix: &prefix})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, f.wrap(ctx, listBlobs, object, err)
		}
		for _, item := range page.ContainerItems {
			names = append(names, value(item.Name))
		}
	}
	return names, nil
}

var _ store.Containers = (*Store)(nil)
