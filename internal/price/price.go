// Package price computes the cost of storage requests, with list prices in US dollars of Azure Blob Storage (LRS) and Azure
// Tables, or prices from a file. Prices differ by region, tier and contract; the built-in ones are for comparing queries,
// not for predicting a bill.
package price

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Table is a list of prices in US dollars.
type Table struct {
	// List, Read and Tables are for ten thousand requests: listing blobs, reading a
	// blob, any request to a table.
	List   float64 `json:"list_per_10k"`
	Read   float64 `json:"read_per_10k"`
	Tables float64 `json:"table_per_10k"`
	// Gigabyte is the price of 10^9 bytes read from any tier, for transfer out of a region. Within a region it is free.
	Gigabyte float64 `json:"read_per_gb"`
	// Create is for ten thousand blobs written, Month for 10^9 bytes stored for a month.
	Create float64 `json:"create_per_10k"`
	Month  float64 `json:"keep_per_gb_month"`
	// Cool and Cold are prices of blobs that were moved there; the other fields are prices of the hot tier.
	Cool Tier `json:"cool"`
	Cold Tier `json:"cold"`
}

// Tier are the prices that differ in a cooler tier.
type Tier struct {
	// Read is for ten thousand requests, Gigabyte for 10^9 bytes retrieved, Move for
	// ten thousand blobs moved there.
	Read     float64 `json:"read_per_10k"`
	Gigabyte float64 `json:"read_per_gb"`
	Move     float64 `json:"move_per_10k"`
}

// OrDefault is the table, or the default one if it is nil.
func (t *Table) OrDefault() Table {
	if t == nil {
		return Default()
	}
	return *t
}

// Default is Azure's list price in East US.
func Default() Table {
	return Table{
		List: 0.055, Read: 0.0044, Tables: 0.00036, Create: 0.055, Month: 0.0208,
		Cool: Tier{Read: 0.01, Gigabyte: 0.01, Move: 0.10},
		Cold: Tier{Read: 0.10, Gigabyte: 0.03, Move: 0.18},
	}
}

// Parse parses a JSON object of prices with the keys list_per_10k, read_per_10k, table_per_10k,
// read_per_gb, create_per_10k and keep_per_gb_month, and in objects cool and cold read_per_10k,
// read_per_gb and move_per_10k; missing keys keep their defaults.
func Parse(data []byte) (Table, error) {
	t := Default()
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))) // an editor of Windows saves the mark
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return Table{}, fmt.Errorf("not a JSON object of prices (list_per_10k, read_per_10k, table_per_10k, read_per_gb, create_per_10k, keep_per_gb_month, cool, cold): %w",
			err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Table{}, errors.New("more follows the object of prices")
	}
	if min(t.List, t.Read, t.Tables, t.Gigabyte, t.Create, t.Month,
		t.Cool.Read, t.Cool.Gigabyte, t.Cool.Move, t.Cold.Read, t.Cold.Gigabyte, t.Cold.Move) < 0 {
		return Table{}, errors.New("a price is negative")
	}
	return t, nil
}

// Usage is the usage of storage.
type Usage struct {
	// List, Read, Table and Create are numbers of requests, Bytes the bytes read: of blobs in the
	// hot tier, if there are tiers.
	List, Read, Table, Bytes, Create int64
	// Cool and Cold are the usage of blobs in these tiers.
	Cool, Cold TierUsage
}

// TierUsage is the usage of a cooler tier: read requests, bytes read, and blobs moved there.
type TierUsage struct {
	Read, Bytes, Move int64
}

// Plus is the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.List + v.List, u.Read + v.Read, u.Table + v.Table, u.Bytes + v.Bytes, u.Create + v.Create, u.Cool.plus(v.Cool), u.Cold.plus(v.Cold)}
}

func (u TierUsage) plus(v TierUsage) TierUsage {
	return TierUsage{u.Read + v.Read, u.Bytes + v.Bytes, u.Move + v.Move}
}

// BytesRead is the number of bytes read, in all tiers.
func (u Usage) BytesRead() int64 { return u.Bytes + u.Cool.Bytes + u.Cold.Bytes }

// Cost is the cost in dollars.
func (t Table) Cost(u Usage) float64 {
	requests := float64(u.List)*t.List + float64(u.Read)*t.Read + float64(u.Table)*t.Tables + float64(u.Create)*t.Create
	return requests/10_000 + float64(u.BytesRead())*t.Gigabyte/1e9 + t.Cool.cost(u.Cool) + t.Cold.cost(u.Cold)
}

func (t Tier) cost(u TierUsage) float64 {
	return (float64(u.Read)*t.Read+float64(u.Move)*t.Move)/10_000 + float64(u.Bytes)*t.Gigabyte/1e9
}
