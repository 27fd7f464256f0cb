package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"logstow/store"
)

// tables implements store.Tables.
type tables struct {
	service *aztables.ServiceClient
	fail    *failures
}

// Tables implements store.TableReader.
func (t *tables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		opts := &aztables.ListTablesOptions{Format: to.Ptr(aztables.MetadataFormatNone)}
		if prefix != "" {
			// No letter or digit is greater than z, which '{' follows.
			opts.Filter = to.Ptr("TableName ge " + quote(prefix) + " and TableName lt " + quote(prefix+"{"))
		}
		pages(ctx, t.service.NewListTablesPager(opts), func(page aztables.ListTablesResponse, err error) bool {
			if err != nil {
				return yield(nil, t.fail.wrap(ctx, listTables, "tables "+prefix+"*", err))
			}
			names := make([]string, 0, len(page.Tables))
			for _, table := range page.Tables {
				names = append(names, value(table.Name))
			}
			return yield(names, nil)
		})
	}
}

// CreateTable implements store.Tables.
func (t *tables) CreateTable(ctx context.Context, table string) error {
	object := tableObject(table)
	if err := store.CheckTable(table); err != nil {
		return t.fail.invalid(createTable, object, err)
	}
	_, err := t.service.CreateTable(forTable(ctx, table), table, nil)
	if err != nil {
		err = t.fail.wrap(ctx, createTable, object, err)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
	}
	return nil
}

// DropTable implements store.Tables.
func (t *tables) DropTable(ctx context.Context, table string) error {
	object := tableObject(table)
	if err := store.CheckTable(table); err != nil {
		return t.fail.invalid(dropTable, object, err)
	}
	_, err := t.service.DeleteTable(forTable(ctx, table), table, nil)
	if err != nil {
		err = t.fail.wrap(ctx, dropTable, object, err)
		gone := errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNoTable) || errors.Is(err, store.ErrTableBusy)
		if !gone {
			return err
		}
	}
	return nil
}

// Upsert implements store.Tables as one entity group transaction.
func (t *tables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	object := tableObject(table)
	if err := errors.Join(store.CheckTable(table), store.CheckEntities(entities)); err != nil {
		return t.fail.invalid(writeTable, object, err)
	}
	actions := make([]aztables.TransactionAction, len(entities))
	for i, e := range entities {
		encoded, err := encodeEntity(e)
		if err != nil {
			return t.fail.invalid(writeTable, object, err)
		}
		actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: encoded}
	}
	if _, err := t.service.NewClient(table).SubmitTransaction(forTable(ctx, table), actions, nil); err != nil {
		return t.fail.wrap(ctx, writeTable, object, err)
	}
	return nil
}

// Remove implements store.Tables. A missing entity fails its whole transaction, and the response
// identifies it: the others are sent again without it.
func (t *tables) Remove(ctx context.Context, table string, keys []store.Key) error {
	object := tableObject(table)
	if err := errors.Join(store.CheckTable(table), store.CheckTransaction(keys)); err != nil {
		return t.fail.invalid(removeEntities, object, err)
	}
	actions := make([]aztables.TransactionAction, len(keys))
	for i, key := range keys {
		encoded, err := encodeEntity(store.Entity{Key: key})
		if err != nil {
			return t.fail.invalid(removeEntities, object, err)
		}
		actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeDelete, Entity: encoded}
	}
	for len(actions) > 0 {
		_, err := t.service.NewClient(table).SubmitTransaction(forTable(ctx, table), actions, nil)
		if err == nil {
			return nil
		}
		err = t.fail.wrap(ctx, removeEntities, object, err)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		i, ok := failedIndex(err)
		if !ok || i >= len(actions) {
			return err
		}
		actions = append(actions[:i], actions[i+1:]...)
	}
	return nil
}

// failedIndex returns the index of the operation that failed in a transaction: the message starts with it
// and a colon.
// https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions
func failedIndex(err error) (int, bool) {
	var e *store.Error
	if !errors.As(err, &e) || e.Err == nil {
		return 0, false
	}
	number, _, _ := strings.Cut(e.Err.Error(), ":")
	i, err := strconv.ParseUint(number, 10, 16)
	return int(i), err == nil
}

// encodeEntity encodes an entity as JSON with type annotations. Quotes in keys are doubled, as in aztables'
// EDMEntity, because aztables inserts the keys into addresses unchanged.
// https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
func encodeEntity(e store.Entity) ([]byte, error) {
	m := make(map[string]any, 2+2*len(e.Properties))
	m["PartitionKey"], m["RowKey"] = doubled(e.Partition), doubled(e.Row)
	for name, v := range e.Properties {
		switch v := v.(type) {
		case string:
			m[name] = v
		case int64:
			m[name], m[name+"@odata.type"] = strconv.FormatInt(v, 10), "Edm.Int64"
		case []byte:
			m[name], m[name+"@odata.type"] = v, "Edm.Binary" // encoding/json writes base64
		default:
			return nil, fmt.Errorf("property %s is a %T", name, v)
		}
	}
	return json.Marshal(m)
}

func tableObject(name string) string { return "table " + name }
