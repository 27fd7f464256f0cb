package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"logstow/store"
)

// Query implements store.TableReader: a range of keys, projected, in
// JSON without metadata, following continuation tokens.
func (t *tables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		object := tableObject(table)
		if err := errors.Join(store.CheckTable(table), store.CheckQuery(q)); err != nil {
			yield(nil, t.fail.invalid(queryTable, object, err))
			return
		}
		pager := t.service.NewClient(table).NewListEntitiesPager(&aztables.ListEntitiesOptions{
			Filter: to.Ptr(filterOf(q)),
			Select: to.Ptr(selectOf(q)),
			Format: to.Ptr(aztables.MetadataFormatNone),
		})
		var resp *http.Response
		pages(policy.WithCaptureResponse(forTable(ctx, table), &resp), pager, func(page aztables.ListEntitiesResponse, err error) bool {
			if err != nil {
				return yield(nil, t.fail.wrap(ctx, queryTable, object, err))
			}
			var read time.Time
			if q.Times {
				if read, err = http.ParseTime(resp.Header.Get("Date")); err != nil {
					yield(nil, t.fail.invalid(queryTable, object, err))
					return false
				}
			}
			entities := make([]store.Entity, 0, len(page.Entities))
			for _, encoded := range page.Entities {
				e, err := decodeEntity(encoded, q, read)
				if err != nil {
					yield(nil, t.fail.invalid(queryTable, object, err))
					return false
				}
				entities = append(entities, e)
			}
			return yield(entities, nil)
		})
	}
}

// filterOf is a query, checked by store.CheckQuery, as an OData filter.
// https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
func filterOf(q store.Query) string {
	var b strings.Builder
	if q.PartitionTo == "" {
		b.WriteString("PartitionKey eq " + quote(q.Partition))
	} else {
		b.WriteString("PartitionKey ge " + quote(q.Partition) + " and PartitionKey lt " + quote(q.PartitionTo))
	}
	if q.RowFrom != "" {
		b.WriteString(" and RowKey ge " + quote(q.RowFrom))
	}
	if q.RowTo != "" {
		b.WriteString(" and RowKey lt " + quote(q.RowTo))
	}
	for _, c := range q.Where {
		b.WriteString(" and " + c.Column + " " + c.Op + " " + quote(c.Value))
	}
	return b.String()
}

// quote is s as an OData string.
func quote(s string) string { return "'" + doubled(s) + "'" }

// doubled is s with quotes doubled, as inside an OData string.
func doubled(s string) string { return strings.ReplaceAll(s, "'", "''") }

func selectOf(q store.Query) string {
	names := []string{"PartitionKey", "RowKey"}
	for _, c := range q.Columns {
		names = append(names, c.Name)
	}
	if q.Times {
		names = append(names, timestamp)
	}
	return strings.Join(names, ",")
}

// timestamp is the property that storage sets to the time of the write.
const timestamp = "Timestamp"

// decodeEntity decodes an entity of a query's response. The columns of q have the types of the properties, which are
// missing in JSON without metadata. read is the time of the response. A missing property is null.
func decodeEntity(encoded []byte, q store.Query, read time.Time) (store.Entity, error) {
	var m map[string]any
	if err := json.Unmarshal(encoded, &m); err != nil {
		return store.Entity{}, fmt.Errorf("entity: %w", err)
	}
	partition, ok1 := m["PartitionKey"].(string)
	row, ok2 := m["RowKey"].(string)
	if !ok1 || !ok2 {
		return store.Entity{}, errors.New("entity without a key")
	}
	e := store.Entity{Key: store.Key{Partition: partition, Row: row}, Properties: make(map[string]any, len(q.Columns))}
	for _, c := range q.Columns {
		raw := m[c.Name]
		if raw == nil {
			continue
		}
		v, err := decodeProperty(raw, c.Kind)
		if err != nil {
			return store.Entity{}, fmt.Errorf("entity %q: property %s: %w", row, c.Name, err)
		}
		e.Properties[c.Name] = v
	}
	if q.Times {
		written, _ := m[timestamp].(string)
		at, err := time.Parse(time.RFC3339Nano, written)
		if err != nil {
			return store.Entity{}, fmt.Errorf("entity %q: %w", row, err)
		}
		e.Written, e.Read = at, read
	}
	return e, nil
}

// decodeProperty reads a value of a kind; all three kinds are strings in JSON.
func decodeProperty(raw any, kind store.Kind) (any, error) {
	s, ok := raw.(string)
	if !ok {
		return nil, fmt.Errorf("is a %T", raw)
	}
	switch kind {
	case store.Int64:
		return strconv.ParseInt(s, 10, 64)
	case store.Binary:
		return base64.StdEncoding.DecodeString(s)
	default:
		return s, nil
	}
}
