-- Views of a store for DuckDB; docs/engines.md describes them. Run this again after a new segments.json.

CREATE OR REPLACE TEMP VIEW segments AS
SELECT * REPLACE (regexp_replace(path, '^https://[^/]+/', 'az://') AS path)
FROM read_json('segments.json', format = 'newline_delimited', columns = {
  path: 'VARCHAR', name: 'VARCHAR', instance: 'VARCHAR', instances: 'BIGINT', class: 'VARCHAR', records: 'BIGINT'});

SET VARIABLE paths = (SELECT list(path) FROM segments);

CREATE OR REPLACE TEMP VIEW lines AS
SELECT filename AS path, row_number() OVER () AS n, coalesce(line, '') AS text,
  regexp_matches(text, '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\t(-|TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\t') AS first
FROM read_csv(getvariable('paths'), columns = {line: 'VARCHAR'}, filename = true, auto_detect = false, header = false,
  compression = 'zstd', quote = '', escape = '', delim = chr(1114111), new_line = '\n', strict_mode = false,
  max_line_size = 17825792, buffer_size = 67108864);

CREATE OR REPLACE TEMP VIEW logs AS
WITH numbered AS (
  SELECT *, count(*) FILTER (first) OVER (ROWS UNBOUNDED PRECEDING) AS record FROM lines),
joined AS (
  SELECT path, string_agg(CASE WHEN first THEN text WHEN starts_with(text, chr(9)) THEN chr(10) || substring(text, 2)
    ELSE chr(13) || text END, '' ORDER BY n) AS text
  FROM numbered GROUP BY path, record),
split AS (
  SELECT path, text, split_part(text, chr(9), 1) AS time, split_part(text, chr(9), 2) AS level, split_part(text, chr(9), 3) AS source,
    split_part(text, chr(9), 4) AS attributes
  FROM joined)
SELECT time::TIMESTAMP_NS AS time, nullif(level, '-') AS level, split_part(name, '/', 1) AS service, nullif(source, '-') AS source,
  CASE WHEN instances IS NULL THEN nullif(instance, '-') END AS instance, nullif(attributes, '-')::JSON AS attributes,
  substring(text, 1 + length(concat(time, level, source, attributes, '____'))) AS message, path
FROM split JOIN segments USING (path);
