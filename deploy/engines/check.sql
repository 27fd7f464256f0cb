-- Finds truncated and missing files: prints nothing if the views have as many records as segments.json.
SELECT path, listed, found
FROM (SELECT path, records AS listed FROM segments) AS s LEFT JOIN (SELECT path, count(*) AS found FROM logs GROUP BY path) AS l USING (path)
WHERE found IS NULL OR found <> listed;
