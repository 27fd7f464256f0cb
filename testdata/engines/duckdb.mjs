// Runs "duckdb -c SQL" and prints the rows of the last statement, columns separated by TABs.

import { DuckDBInstance } from '@duckdb/node-api';

const [flag, sql] = process.argv.slice(2);
if (flag !== '-c') throw new Error(`duckdb ${flag} is not known`);
const connection = await (await DuckDBInstance.create(':memory:')).connect();
let rows;
for (const one of sql.split(/;\s*\n/)) rows = (await connection.runAndReadAll(one)).getRowsJson();
for (const row of rows) console.log(row.join('\t'));
