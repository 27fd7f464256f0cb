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

// The limits of one account.
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
	// page is the number of blobs per page of a listing.
	page = 5000
)

// The assumptions about a fleet, as documented in docs/scaling.md.
const (
	// compression is the ratio of logs to stored bytes, as measured and as in docs/cost.md.
	compression = 5
	// largest is the share of all shippers that the largest service has.
	largest = 10
	// perService is the number of shippers of every other service.
	perService = 20
	// entityBytes are those of a segment's entity, as Azure counts them.
	entityBytes = 1000
	// indexMonth is what 10^9 bytes of tables cost a month.
	// https://azure.microsoft.com/pricing/details/storage/tables
	indexMonth = 0.045
	// retainRate is shipper retain's --rate by default, in blobs a second.
	retainRate = 1000

	// many is the number of shippers from which the limits of one account are printed.
	many = 1_000_000

	daySeconds   = 24 * 60 * 60
	monthSeconds = 30 * daySeconds
)

// fleet is a number of identical shippers.
type fleet struct {
	shippers int
	flush    time.Duration
	rate     float64
	keep     time.Duration
}

// load is the load of a fleet on storage.
type load struct {
	// creates are blobs per second, each with an entity. requests are those, the transactions of
	// entities, and the deletions of what was written keep ago. hottest are entities of the
	// partition that has the most, which has a share hot of its service's. ingress is in bytes.
	creates, requests, hottest, hot, ingress float64
	// share is the used share of one account's limits, by the tightest of them, which limit names.
	share float64
	limit string
	// segments are those of the largest service in an hour, pages the pages of listing them.
	segments, pages int64
	// retain is how long a day's retention takes.
	retain time.Duration
	// Costs are dollars a month: writing blobs, writing and keeping the index, keeping blobs, and retention.
	writeCost, indexCost, keepCost, retainCost float64
	// accounts is the minimum number of accounts.
	accounts int
}

func (f fleet) load() (l load) {
	each := 1 / f.flush.Seconds() // each shipper fills one segment per interval
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
		// Each service is listed, and listed again afterwards, up to its past day.
		List:  2 * int64(float64(services)+daily/page),
		Read:  int64(daily / store.MaxDelete),
		Table: 1,
	})
	return l
}

// accountLimit is how many shippers one account supports, and the limit that is reached.
func (f fleet) accountLimit() (shippers int, limit string) {
	f.shippers = many
	l := f.load() // as many as make the shares of a service even
	return int(many / l.share), l.limit
}

// retainLimit is the number of shippers that one shipper retain supports: those that write as many
// segments per second as it deletes.
func (f fleet) retainLimit() int { return int(retainRate * f.flush.Seconds()) }

// hottestShard is the number of instances of a service in the partition that has the most, by the
// actual keys of entities.
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
