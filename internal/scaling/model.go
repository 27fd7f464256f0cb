package main

import (
	"fmt"
	"math"
	"time"

	"logstow/blobnaming"
	"logstow/internal/price"
	"logstow/store"
	"logstow/tableindex"
)

// What one account bears.
const (
	// accountRequests is the number of requests a second of a standard account, blobs and tables together.
	// https://learn.microsoft.com/azure/storage/common/scalability-targets-standard-account
	accountRequests = 20_000
	// accountEntities and partitionEntities are entities of 1 KiB a second.
	// https://learn.microsoft.com/azure/storage/tables/scalability-targets
	accountEntities   = 20_000
	partitionEntities = 2_000
	// accountIngress is in bytes a second: 25 Gbit/s, what every region has.
	accountIngress = 25e9 / 8
	// page is the number of blobs that one listing answers.
	page = 5000
)

// What is assumed of a fleet and said in docs/scaling.md.
const (
	// compression is logs to stored bytes, as measured and as docs/cost.md has it.
	compression = 5
	// largest is the part of all shippers that the largest service has.
	largest = 10
	// perService is the number of shippers of a service otherwise.
	perService = 20
	// entityBytes are those of a segment's entity, as Azure counts them.
	entityBytes = 1000
	// indexMonth is what 10^9 bytes of tables cost a month.
	// https://azure.microsoft.com/pricing/details/storage/tables
	indexMonth = 0.045
	// retainRate is shipper retain's --rate by default, in blobs a second.
	retainRate = 1000

	// many is the number of shippers from which it is told what one account bears.
	many = 1_000_000

	daySeconds   = 24 * 60 * 60
	monthSeconds = 30 * daySeconds
)

// fleet is a number of shippers, all of which do the same.
type fleet struct {
	shippers int
	flush    time.Duration
	rate     float64
	keep     time.Duration
}

// load is what a fleet asks of storage.
type load struct {
	// creates are blobs a second, each with an entity. requests are those, the
	// transactions of entities, and the deletions of what was written keep ago. hottest are
	// entities of the one partition that has the most, which is hot of its service's. ingress is in bytes.
	creates, requests, hottest, hot, ingress float64
	// share is the part of one account's limits that is used, by the tightest of them, which limit names.
	share float64
	limit string
	// segments are those of the largest service in an hour, pages what listing them takes.
	segments, pages int64
	// retain is how long a day's retention takes.
	retain time.Duration
	// Costs are dollars a month: writing blobs, writing and keeping the index, keeping blobs, and retention.
	writeCost, indexCost, keepCost, retainCost float64
	// accounts are needed at the least.
	accounts int
}

func (f fleet) load() (l load) {
	each := 1 / f.flush.Seconds() // each shipper fills one segment an interval
	l.creates = float64(f.shippers) * each
	l.requests = 3 * l.creates
	biggest := max(f.shippers/largest, min(f.shippers, perService))
	shard := hottestShard(biggest)
	l.hottest, l.hot = float64(shard)*each, float64(shard)/float64(biggest)
	l.ingress = float64(f.shippers) * f.rate / compression
	for _, limit := range []struct {
		name        string
		used, bears float64
	}{
		{"requests a second", l.requests, accountRequests},
		{"entities a second", l.creates, accountEntities},
		{"entities a second in a partition", l.hottest, partitionEntities},
		{"stored bytes a second", l.ingress, accountIngress},
	} {
		if share := limit.used / limit.bears; share > l.share {
			l.share, l.limit = share, fmt.Sprintf("%.0f %s", limit.bears, limit.name)
		}
	}
	l.accounts = int(math.Ceil(l.share))

	l.segments = int64(float64(biggest) * 3600 * each)
	l.pages = (l.segments + page - 1) / page

	daily := l.creates * daySeconds
	l.retain = time.Duration(daily / retainRate * float64(time.Second))
	services := max(1, f.shippers/perService)
	prices := price.Default()
	month := func(second float64) int64 { return int64(second * monthSeconds) }
	l.writeCost = float64(month(l.creates)) * prices.Create / 10_000
	l.indexCost = prices.Cost(price.Usage{Table: month(l.creates)}) + l.creates*f.keep.Seconds()*entityBytes/1e9*indexMonth
	l.keepCost = l.ingress * f.keep.Seconds() / 1e9 * prices.Month
	l.retainCost = 30 * prices.Cost(price.Usage{
		// Each service is listed, and listed again afterwards, as far as its past day reaches.
		List:  2 * int64(float64(services)+daily/page),
		Read:  int64(daily / store.MaxDelete),
		Table: 1,
	})
	return l
}

// accountLimit is how many shippers one account bears, and the limit that ends it.
func (f fleet) accountLimit() (shippers int, limit string) {
	f.shippers = many
	l := f.load() // as many as make the parts of a service even
	return int(many / l.share), l.limit
}

// retainLimit is with how many shippers one shipper retain keeps up: those that write as
// many segments a second as it deletes.
func (f fleet) retainLimit() int { return int(retainRate * f.flush.Seconds()) }

// hottestShard is the number of instances of a service of which the most share a
// partition, by the real keys of rows.
func hottestShard(instances int) (most int) {
	count := make(map[string]int)
	for i := range instances {
		row := tableindex.Entity{
			Name: blobnaming.Name{Service: "api", Bucket: time.Unix(0, 0), Number: 1},
			Meta: blobnaming.Metadata{Instance: fmt.Sprintf("api-7d4b9c6f5-%05x", i*2654435761%0xfffff)},
		}
		key := row.Key().Partition
		count[key]++
		most = max(most, count[key])
	}
	return most
}
