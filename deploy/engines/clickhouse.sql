-- Views of a store for ClickHouse; docs/engines.md describes them.

CREATE OR REPLACE VIEW segments AS
SELECT if(startsWith(path, 'http'), extract(path, '[^/]+(?:/[^/]+){6}$'), path) AS path, name, instance, instances, class, records
FROM file('segments.json', JSONEachRow,
  'path String, name String, instance String, instances UInt32, class String, records UInt64');

-- The store is the directory /var/lib/logs. For Azure put the view of clickhouse-azure.sql here.
CREATE OR REPLACE VIEW lines AS
SELECT _path AS path, _row_number AS n, line FROM file('/var/lib/logs/*/*/*/*/*/*.log', LineAsString, 'line String', 'zstd')
WHERE _path IN (SELECT path FROM segments)
UNION ALL
SELECT _path AS path, _row_number AS n, line FROM file('/var/lib/logs/_compacted/*/*/*/*/*/*.log', LineAsString, 'line String', 'zstd')
WHERE _path IN (SELECT path FROM segments);

CREATE OR REPLACE VIEW logs AS
WITH numbered AS (
  SELECT path, n, line, max(if(startsWith(line, '\t'), 0, n)) OVER (PARTITION BY path ORDER BY n ROWS UNBOUNDED PRECEDING) AS record
  FROM lines),
joined AS (
  SELECT path, arrayStringConcat(arrayMap(x -> if(startsWith(x.2, '\t'), concat('\n', substring(x.2, 2)), x.2),
    arraySort(groupArray((n, line))))) AS text
  FROM numbered GROUP BY path, record),
split AS (
  SELECT path, text, position(text, '\t', 32) AS t2, position(text, '\t', t2 + 1) AS t3, position(text, '\t', t3 + 1) AS t4 FROM joined)
SELECT parseDateTime64BestEffort(substring(text, 1, 30), 9, 'UTC') AS time, nullIf(substring(text, 32, t2 - 32), '-') AS level,
  splitByChar('/', s.name)[1] AS service, nullIf(substring(text, t2 + 1, t3 - t2 - 1), '-') AS source,
  if(s.instances = 0, nullIf(s.instance, '-'), NULL) AS instance,
  nullIf(substring(text, t3 + 1, t4 - t3 - 1), '-') AS attributes, substring(text, t4 + 1) AS message, split.path AS path
FROM split JOIN segments AS s ON split.path = s.path;
