-- The view "lines" of clickhouse.sql for the containers logs and logs-compacted. Leave out the second half if there is no compacted one.
CREATE OR REPLACE VIEW lines AS
SELECT _path AS path, _row_number AS n, line
FROM azureBlobStorage('CONNECTION_STRING', 'logs', '*/*/*/*/*/*.log', 'LineAsString', 'zstd', 'line String')
WHERE _path IN (SELECT path FROM segments)
UNION ALL
SELECT _path AS path, _row_number AS n, line
FROM azureBlobStorage('CONNECTION_STRING', 'logs-compacted', '*/*/*/*/*/*.log', 'LineAsString', 'zstd', 'line String')
WHERE _path IN (SELECT path FROM segments);
