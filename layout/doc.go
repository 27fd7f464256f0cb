// Package layout knows how other programs name the blobs of their logs: it finds those of a time range, and says what is in each.
//
// Names contain the time at which a program received or uploaded records, not that of their events. So the blobs of a range are those
// named from its start to its end plus a slack; events that were stored later are missed. Blobs whose names have no time go by the times
// at which they were created and last written.
//
// The sources of the built-in layouts are the documentations of the programs:
//
//   - azure: https://learn.microsoft.com/azure/azure-monitor/essentials/resource-logs (insights-logs-CATEGORY),
//     https://learn.microsoft.com/azure/azure-monitor/logs/logs-data-export (am-TABLE),
//     https://learn.microsoft.com/azure/network-watcher/nsg-flow-logs-overview and
//     https://learn.microsoft.com/azure/network-watcher/vnet-flow-logs-overview,
//     https://learn.microsoft.com/azure/app-service/troubleshoot-diagnostic-logs
//   - $logs: https://learn.microsoft.com/azure/storage/common/storage-analytics-logging
//   - fluent-bit: https://docs.fluentbit.io/manual/data-pipeline/outputs/azure_blob
//   - vector: https://vector.dev/docs/reference/configuration/sinks/azure_blob/
//   - otel: the README of azureblobexporter of opentelemetry-collector-contrib
package layout
