/** `weir traces export`: runs with their inputs and outputs, a line of JSON each. */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { Fault } from "../fault.ts";
import { formatJson } from "../console.ts";
import { buildQuery, type TraceOptions } from "../trace-query.ts";
import { LISTED, readPages } from "./pages.ts";

const EXPORTED = [
  ...LISTED.filter((name) => !name.endsWith("_preview")),
  ...`parent_run_ids dotted_order thread_id reference_example_id inputs outputs error extra tags feedback_stats
    prompt_tokens completion_tokens prompt_cost completion_cost`.split(/\s+/),
];

export async function exportTraces(options: TraceOptions): Promise<void> {
  const { call, values } = options;
  const limit = options.limit(1_000);
  const query = { ...(await buildQuery(options)), selects: EXPORTED };
  const file = values.out === undefined ? undefined : createWriteStream(values.out);
  const cannot = (error: Error) => {
    throw new Fault(`${values.out} cannot be written: ${error.message}`);
  };
  if (file) await once(file, "open").catch(cannot);
  let count = 0;
  let more = false;
  for await (const page of readPages(call, query, limit)) {
    more = page.more;
    count += page.items.length;
    for (const run of page.items) {
      const line = formatJson(run);
      if (!file) console.log(line);
      else if (!file.write(`${line}\n`)) await once(file, "drain");
    }
  }
  if (file) {
    file.end();
    await finished(file).catch(cannot);
  }
  console.error(`${count} runs.${more ? " There are more: --limit exports more." : ""}`);
}
