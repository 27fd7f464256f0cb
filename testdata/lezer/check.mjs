// Reads queries as JSON strings, one a line, and writes a line for each: -1, or the offset (in UTF-16 units) of the first
// error in it by Grafana's grammar.
import { createInterface } from "node:readline";
import { parser } from "@grafana/lezer-logql";

for await (const line of createInterface({ input: process.stdin })) {
  let at = -1;
  parser.parse(JSON.parse(line)).iterate({
    enter: (node) => {
      if (node.type.isError && at < 0) at = node.from;
    },
  });
  process.stdout.write(`${at}\n`);
}
