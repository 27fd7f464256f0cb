module logstow

go 1.26.0

require (
	connectrpc.com/connect v1.21.1 // OpenTelemetry over gRPC on the port of HTTP
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.23.3 // requests to Azure
	github.com/Azure/azure-sdk-for-go/sdk/azidentity v1.15.0 // managed and workload identity, az login
	github.com/Azure/azure-sdk-for-go/sdk/data/aztables v1.4.1 // Azure Tables: the index
	github.com/Azure/azure-sdk-for-go/sdk/storage/azblob v1.8.0 // Azure Blob Storage
	github.com/DataDog/sketches-go v1.4.8 // DDSketch: quantiles of many values
	github.com/axiomhq/hyperloglog v0.3.0 // HyperLogLog: the number of different values
	github.com/bmatcuk/doublestar/v4 v4.10.4 // globs with **
	github.com/cespare/xxhash/v2 v2.3.0 // XXH64, for sums of records and distinct values
	github.com/coder/websocket v1.8.15 // websockets: the endpoint tail of Loki's API
	github.com/dgryski/go-metro v0.0.0-20250106013310-edb8663e5e33 // indirect
	github.com/expr-lang/expr v1.17.8 // the parser of logq --where; Logstow evaluates the expressions
	github.com/fsnotify/fsnotify v1.10.1 // notifications of file changes
	github.com/goccy/go-yaml v1.19.2 // the configuration file
	github.com/google/go-cmp v0.7.0 // tests: readable differences
	github.com/google/uuid v1.6.0 // identifiers of Delta tables
	github.com/itchyny/timefmt-go v0.1.9 // strptime formats of times, and strftime in templates
	github.com/klauspost/compress v1.20.3 // zstd, Snappy, and huff0 for the ids in origins
	github.com/leodido/go-syslog/v4 v4.5.0 // tests: a strict parser of RFC 5424, to compare with
	github.com/parquet-go/parquet-go v0.32.0 // -o parquet of logq query and logq stats; structures of the format for shipper export
	github.com/prometheus/client_golang v1.25.0 // Prometheus metrics
	github.com/rogpeppe/go-internal v1.16.0 // tests: scripts that run whole programs (testscript)
	github.com/urfave/cli/v2 v2.27.7 // commands, flags and their help
	github.com/vmihailenco/msgpack/v5 v5.4.1 // the segment's footer, the forward protocol
	go.opentelemetry.io/proto/slim/otlp v1.11.1 // OpenTelemetry's messages, without gRPC
	go.uber.org/goleak v1.3.0 // tests: goroutine leaks
	golang.org/x/sync v0.24.0 // error groups, weighted semaphores
	golang.org/x/sys v0.49.0 // file identity, locks and sockets of the system
	golang.org/x/term v0.47.0 // terminal detection and width
	golang.org/x/text v0.43.0 // the width of characters in a terminal
	golang.org/x/time v0.16.0 // rate limits
	google.golang.org/protobuf v1.36.12 // OpenTelemetry's encoding
	modernc.org/sqlite v1.61.1 // the index of the local store, without cgo
)

require (
	github.com/Azure/azure-sdk-for-go/sdk/internal v1.13.0 // indirect
	github.com/AzureAD/microsoft-authentication-library-for-go v1.10.1 // indirect
	github.com/andybalholm/brotli v1.1.1 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/kamstrup/intmap v0.5.2 // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/pierrec/lz4/v4 v4.1.21 // indirect
	github.com/pkg/browser v0.0.0-20240102092130-5ac0b6a4141c // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
