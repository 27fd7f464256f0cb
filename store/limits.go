package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits that both backends enforce: Azure's.
const (
	// MaxTransaction is the number of entities that one transaction may hold.
	// https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions
	MaxTransaction = 100
	// MaxTransactionSize is the size of a transaction's entities in bytes, by [Entity.Size].
	MaxTransactionSize = 4 << 20
	// MaxEntitySize is the size of an entity in bytes, by [Entity.Size].
	// https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
	MaxEntitySize = 1 << 20
	// MaxProperties is the number of properties of an entity, its key not counted.
	MaxProperties = 252
	// MaxPropertySize is the size of a property's value in bytes, strings as UTF-16.
	MaxPropertySize = 64 << 10
	// MaxKeySize is the size of a partition or row key in bytes, as UTF-16.
	MaxKeySize = 1 << 10
	// MaxDelete is the number of blobs that one request deletes.
	// https://learn.microsoft.com/rest/api/storageservices/blob-batch
	MaxDelete = 256
	// MaxName is the length of a blob's name in bytes.
	MaxName = 1024
	// MaxMetadata is the size of a blob's metadata in bytes, keys and values.
	MaxMetadata = 8 << 10

	maxComponents   = 254
	maxPropertyName = 255
)

// CheckName reports why a name is not valid for a blob: a name is 1 to [MaxName] bytes of UTF-8
// without control characters or '\', in at most 254 components joined by '/', none of them empty or
// ending in '.'.
// https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("name is empty")
	case len(name) > MaxName:
		return fmt.Errorf("name has %d bytes, more than %d", len(name), MaxName)
	case !utf8.ValidString(name):
		return errors.New("name is not UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return isControl(r) || r == '\\' }):
		return errors.New("name holds a control character or a backslash")
	case strings.Count(name, "/") >= maxComponents:
		return fmt.Errorf("name has more than %d components", maxComponents)
	}
	for component := range strings.SplitSeq(name, "/") {
		if component == "" || strings.HasSuffix(component, ".") {
			return fmt.Errorf("name has a component %q: empty or ending in a dot", component)
		}
	}
	return nil
}

// CheckMetadata reports why metadata is not valid: keys are ASCII identifiers, unique without
// regard to case, values printable ASCII, not empty and without spaces at the ends; [MaxMetadata]
// bytes in all.
func CheckMetadata(metadata map[string]string) error {
	size := 0
	folded := make(map[string]bool, len(metadata))
	for key, value := range metadata {
		size += len(key) + len(value)
		if !isIdentifier(key) {
			return fmt.Errorf("metadata key %q is not an ASCII identifier", key)
		}
		lower := strings.ToLower(key)
		if folded[lower] {
			return fmt.Errorf("metadata key %q occurs twice", key)
		}
		folded[lower] = true
		if value == "" || strings.TrimSpace(value) != value || strings.ContainsFunc(value, notPrintableASCII) {
			return fmt.Errorf("metadata value %q of %s is empty, not printable ASCII, or has a space at an end", value, key)
		}
	}
	if size > MaxMetadata {
		return fmt.Errorf("metadata has %d bytes, more than %d", size, MaxMetadata)
	}
	return nil
}

// CheckTable reports why a name is not valid for a table: [A-Za-z][A-Za-z0-9]{2,62}, and not
// "tables". Names are compared without case.
func CheckTable(name string) error {
	ok := len(name) >= 3 && len(name) <= 63 && isLetter(rune(name[0]))
	for i := 1; ok && i < len(name); i++ {
		ok = isLetter(rune(name[i])) || isDigit(rune(name[i]))
	}
	if !ok || strings.EqualFold(name, "tables") {
		return fmt.Errorf("%q is not a table name", name)
	}
	return nil
}

// CheckTransaction reports why keys cannot be written in one transaction: it has 1 to
// [MaxTransaction] valid keys of one partition, with distinct row keys.
func CheckTransaction(keys []Key) error {
	if len(keys) == 0 || len(keys) > MaxTransaction {
		return fmt.Errorf("transaction of %d entities: must have 1 to %d", len(keys), MaxTransaction)
	}
	rows := make(map[string]bool, len(keys))
	for _, k := range keys {
		if err := CheckKey(k); err != nil {
			return err
		}
		if k.Partition != keys[0].Partition {
			return fmt.Errorf("transaction spans partitions %q and %q", keys[0].Partition, k.Partition)
		}
		if rows[k.Row] {
			return fmt.Errorf("transaction has row key %q twice", k.Row)
		}
		rows[k.Row] = true
	}
	return nil
}

// CheckKey reports why a key is not valid.
func CheckKey(k Key) error {
	for _, part := range [2]string{k.Partition, k.Row} {
		switch {
		case !utf8.ValidString(part):
			return fmt.Errorf("key %q is not UTF-8", part)
		case 2*utf16Units(part) > MaxKeySize:
			return fmt.Errorf("key %.40q… has %d bytes as UTF-16, more than %d", part, 2*utf16Units(part), MaxKeySize)
		case strings.ContainsFunc(part, func(r rune) bool { return isControl(r) || strings.ContainsRune(`/\#?`, r) }):
			return fmt.Errorf(`key %q holds one of / \ # ? or a control character`, part)
		}
	}
	return nil
}

// CheckEntities reports why entities cannot be written in one transaction.
func CheckEntities(entities []Entity) error {
	keys := make([]Key, len(entities))
	total := 0
	for i, e := range entities {
		keys[i] = e.Key
		if err := checkProperties(e); err != nil {
			return fmt.Errorf("entity %q: %w", e.Row, err)
		}
		total += e.Size()
	}
	if total > MaxTransactionSize {
		return fmt.Errorf("transaction of %d bytes, more than %d", total, MaxTransactionSize)
	}
	return CheckTransaction(keys)
}

func checkProperties(e Entity) error {
	if len(e.Properties) > MaxProperties {
		return fmt.Errorf("%d properties, more than %d", len(e.Properties), MaxProperties)
	}
	for name, value := range e.Properties {
		if !isIdentifier(name) || len(name) > maxPropertyName || name == "PartitionKey" || name == "RowKey" || name == "Timestamp" {
			return fmt.Errorf("%q is not a valid property name", name)
		}
		size := 0
		switch v := value.(type) {
		case string:
			if !utf8.ValidString(v) {
				return fmt.Errorf("property %s is not UTF-8", name)
			}
			size = 2 * utf16Units(v)
		case []byte:
			size = len(v)
		case int64:
		default:
			return fmt.Errorf("property %s has type %T: must be string, int64 or []byte", name, value)
		}
		if size > MaxPropertySize {
			return fmt.Errorf("property %s has %d bytes, more than %d", name, size, MaxPropertySize)
		}
	}
	if size := e.Size(); size > MaxEntitySize {
		return fmt.Errorf("%d bytes, more than %d", size, MaxEntitySize)
	}
	return nil
}

// CheckQuery reports why a query is not valid: partition and row bounds must be valid parts of
// keys, columns valid property names, operators and kinds known.
func CheckQuery(q Query) error {
	for _, k := range [2]Key{{q.Partition, q.RowFrom}, {q.PartitionTo, q.RowTo}} {
		if err := CheckKey(k); err != nil {
			return err
		}
	}
	for _, c := range q.Where {
		if !isIdentifier(c.Column) {
			return fmt.Errorf("condition on %q: not a valid property name", c.Column)
		}
		if !slices.Contains([]string{"eq", "lt", "le", "gt", "ge"}, c.Op) {
			return fmt.Errorf("condition on %s: operator %q is not one of eq, lt, le, gt, ge", c.Column, c.Op)
		}
	}
	for _, c := range q.Columns {
		if !isIdentifier(c.Name) || c.Kind > Binary {
			return fmt.Errorf("column %q of kind %d", c.Name, c.Kind)
		}
	}
	return nil
}

// Size is the entity's size in bytes as Azure counts it against [MaxEntitySize].
// https://learn.microsoft.com/archive/blogs/avkashchauhan/how-the-size-of-an-entity-is-caclulated-in-windows-azure-table-storage
func (e Entity) Size() int {
	size := 4 + 2*(utf16Units(e.Partition)+utf16Units(e.Row))
	for name, value := range e.Properties {
		size += 8 + 2*len(name)
		switch v := value.(type) {
		case string:
			size += 4 + 2*utf16Units(v)
		case []byte:
			size += 4 + len(v)
		default:
			size += 8
		}
	}
	return size
}

// utf16Units is the length of s in UTF-16.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isLetter(r) && r != '_' && (i == 0 || !isDigit(r)) {
			return false
		}
	}
	return s != ""
}

func isLetter(r rune) bool          { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool           { return r >= '0' && r <= '9' }
func notPrintableASCII(r rune) bool { return r < ' ' || r > '~' }

// isControl covers C0, DEL and C1.
func isControl(r rune) bool { return r < ' ' || r >= 0x7F && r <= 0x9F }
